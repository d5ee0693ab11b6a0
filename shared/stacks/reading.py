"""Definitions as YAML: read under limits, checked one by one, each fault with its line; and written again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from shared.contracts.definitions import MAX_BYTES, MAX_DEFINITIONS, Definition
from shared.errors import InvalidRequest
from shared.faults import worded

_MAX_EVENTS = 100_000
_DEEPEST = 8
_LOC: list[str | int] = ["body", "yaml"]
Fault = tuple[list[str | int], str]


def read_definitions(text: str) -> list[Definition]:
    """Read a list of definitions, or a mapping that has one under ``definitions``. Raises: InvalidRequest."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _refused([(_LOC, f"a set of definitions may have {MAX_BYTES >> 10} kB at most")])
    _check_events(text)
    try:
        node = yaml.compose(text, yaml.CSafeLoader)
        value = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _refused([(_LOC, _reason(error))]) from None
    if value is None:
        return []
    items, nodes, loc = _listed(value, node)
    faults: list[Fault] = []
    definitions: list[Definition] = []
    for number, (item, place) in enumerate(zip(items, nodes, strict=True)):
        try:
            definitions.append(Definition.model_validate(item))
        except ValidationError as error:
            faults += _faults(error, [*loc, number], place)
    if faults:
        raise _refused(faults)
    check_set(definitions, [item.start_mark.line + 1 for item in nodes], loc)
    return definitions


def check_set(definitions: Sequence[Definition], lines: Sequence[int] = (), loc: Sequence[str | int] = ()) -> None:
    """Check the constraints between definitions. Raises: InvalidRequest."""
    faults: list[Fault] = []
    seen: set[tuple[str, str]] = set()
    for number, definition in enumerate(definitions):
        line = lines[number] if lines else None
        if (definition.kind, definition.id) in seen:
            faults.append(
                ([*loc, number, "id"], _at(line, f"there are two definitions of the {definition.kind} {definition.id}"))
            )
        seen.add((definition.kind, definition.id))
        for position, pattern in enumerate(definition.files):
            if wrong := _wrong_pattern(pattern):
                faults.append(([*loc, number, "files", position], _at(line, f"{pattern!r} {wrong}")))
    if faults:
        raise _refused(faults)


def _wrong_pattern(pattern: str) -> str | None:
    if not pattern.strip("*?/."):
        return "fits every file and proves nothing"
    if pattern.startswith("/") or "\\" in pattern or "\0" in pattern or ".." in pattern.split("/"):
        return "is not a pattern of names inside a package, such as *.foo or conf/*.bar"
    return None


def written(definitions: Sequence[Definition]) -> str:
    """Return the definitions as YAML, in the order and with the fields that were given."""
    items = [definition.model_dump(mode="json", exclude_defaults=True) for definition in definitions]
    return yaml.safe_dump({"definitions": items}, sort_keys=False, allow_unicode=True, width=120)


def extended(text: str, definitions: Sequence[Definition], new: Definition) -> str:
    """Return the text with one more definition: comments stay where it can be appended, else the text is rewritten."""
    item = yaml.safe_dump([new.model_dump(mode="json", exclude_defaults=True)], sort_keys=False, allow_unicode=True)
    wanted = [*definitions, new]
    for indent in ("", "  "):
        longer = f"{text.rstrip()}\n" + "".join(f"{indent}{line}\n" for line in item.splitlines())
        try:
            if read_definitions(longer) == wanted:
                return longer
        except InvalidRequest:
            continue
    return written(wanted)


def _check_events(text: str) -> None:
    """Refuse aliases, tags, deep nesting and several documents before anything is built. Raises: InvalidRequest."""
    depth = documents = 0
    try:
        for number, event in enumerate(yaml.parse(text, yaml.CSafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark else None
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _refused([(_LOC, _at(line, "anchors and aliases are not read"))])
            if getattr(event, "tag", None) is not None:
                raise _refused([(_LOC, _at(line, "tags are not read"))])
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            documents += isinstance(event, yaml.DocumentStartEvent)
            if depth > _DEEPEST or number > _MAX_EVENTS or documents > 1:
                wrong = "more than one document" if documents > 1 else "more than a list of definitions"
                raise _refused([(_LOC, _at(line, wrong))])
    except (yaml.YAMLError, ValueError) as error:
        raise _refused([(_LOC, _reason(error))]) from None


def _listed(value: object, node: Any) -> tuple[list[object], list[Any], list[str | int]]:  # noqa: ANN401 - a YAML node
    """Return the items with their nodes, and their location. Raises: InvalidRequest."""
    loc = list(_LOC)
    if isinstance(value, dict):
        unknown = [str(key) for key in value if key != "definitions"]
        if unknown:
            raise _refused([(loc, f"there is no field {unknown[0]}; the list belongs under definitions")])
        loc.append("definitions")
        value = value.get("definitions")
        lists = [inner for _, inner in node.value]
        if len(lists) > 1:
            raise _refused([(loc, _at(lists[1].start_mark.line + 1, "definitions is given twice"))])
        node = lists[0] if lists else node
    if value is None:
        return [], [], loc
    if not isinstance(value, list):
        raise _refused([(loc, _at(node.start_mark.line + 1, "give a list of definitions"))])
    if len(value) > MAX_DEFINITIONS:
        raise _refused([(loc, f"a set may have {MAX_DEFINITIONS} definitions at most")])
    return value, list(node.value), loc


def _faults(error: ValidationError, loc: list[str | int], node: Any) -> Iterator[Fault]:  # noqa: ANN401
    for one in error.errors(include_url=False, include_input=False):
        yield [*loc, *one["loc"]], _at(_line(node, one["loc"]), worded(one))


def _line(node: Any, loc: Sequence[str | int]) -> int:  # noqa: ANN401
    """Return the line of the error, or of the nearest node."""
    here = node
    for part in loc:
        if isinstance(here, yaml.MappingNode):
            inner = next((value for key, value in here.value if key.value == part), None)
        elif isinstance(here, yaml.SequenceNode) and isinstance(part, int) and part < len(here.value):
            inner = here.value[part]
        else:
            inner = None
        if inner is None:
            break
        here = inner
    return int(here.start_mark.line) + 1


def _at(line: int | None, message: str) -> str:
    return message if line is None else f"line {line}: {message}"


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "not valid YAML"
    return _at(mark.line + 1 if mark else None, str(problem))


def _refused(faults: Sequence[Fault]) -> InvalidRequest:
    shown = "; ".join(f"{'.'.join(map(str, loc))}: {message}" for loc, message in faults[:3])
    return InvalidRequest(shown, list(faults[:100]))
