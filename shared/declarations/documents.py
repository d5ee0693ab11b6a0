"""The parameters that a document declares: in its text, in its front matter, in a cell that is tagged for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime

from pydantic import JsonValue

from shared.declarations.parameters import Declaration, parse_declaration

DECLARED = re.compile(r"&\[([A-Za-z_]\w{0,99})\](?:\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\})?")
TAGGED = re.compile(r"(?:#\||:|--\||//\|)\s*tags:.*\bparameters\b")
_NAME = re.compile(r"[A-Za-z_]\w{0,99}")
_ENTRY = re.compile(r"\s+(?:- *name: *)?[\"']?([A-Za-z_]\w{0,99})[\"']?\s*(?::|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)[^`]*\1(?!`)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,99})\s*(?::[^=\n]{1,50})?(?:=|<-)\s*([^#\n]{1,1000})")
_MAX_FRONT, _MAX_LINES, _MAX_VALUES, _MAX_LINE = 20_000, 1000, 2000, 20_000
_KEYWORDS = {
    "minimum": "min", "maximum": "max", "exclusiveMinimum": "emin", "exclusiveMaximum": "emax", "multipleOf": "mult",
    "minLength": "minlen", "maxLength": "maxlen", "pattern": "pattern", "title": "label", "label": "label",
    "min": "min", "max": "max", "step": "step",
}  # fmt: skip
_TYPES = {"integer": "int", "number": "num", "string": "str", "boolean": "bool", "array": "list", "float": "num"}
_FORMATS = {"date": "date", "time": "time", "date-time": "datetime", "duration": "duration"}


def declarations(markdown: str) -> dict[str, Declaration]:
    """Return every parameter declared outside of code, by name; the first of each name counts."""
    known: dict[str, Declaration] = {}
    for declaration in _declarations(markdown):
        known.setdefault(declaration.name, declaration)
    return known


def _declarations(markdown: str) -> Iterator[Declaration]:
    lines = markdown.removeprefix("\ufeff").split("\n")
    front = front_matter(lines)
    if front:
        yield from (declaration for declaration, _ in in_front_matter("\n".join(lines[1 : front - 1])))
    fence, tagged = "", False
    comments = _comments(lines) if "<!--" in markdown else {}
    hidden = 0  #: the line after the comment that is open
    for number in range(front, len(lines)):
        line = lines[number]
        hidden = hidden if fence or number < hidden else comments.get(number, hidden)
        if number < hidden:
            continue
        if match := _FENCE.match(line):
            mark, rest = match.groups()
            if fence and mark.startswith(fence) and not rest.strip():
                fence = ""
            elif not fence:
                fence, tagged = mark, False
        elif fence:
            tagged = tagged or TAGGED.match(line.strip()) is not None
            if tagged and (declaration := _assigned(line)):
                yield declaration
        elif "&[" in line:
            yield from _in_line(line)


def _in_line(line: str) -> Iterator[Declaration]:
    bare = _SPAN.sub(lambda span: " " * len(span[0]), line) if len(line) <= _MAX_LINE else ""
    for match in DECLARED.finditer(bare):
        yield parse_declaration(match[1], match[2] or "")


def _comments(lines: list[str]) -> dict[int, int]:
    """Return the line after each HTML comment, by the line where the comment begins."""
    ends: dict[int, int] = {}
    end: int | None = None
    for number in range(len(lines) - 1, -1, -1):
        end = number + 1 if "-->" in lines[number] else end
        if end is not None and lines[number].lstrip(" \t").startswith("<!--"):
            ends[number] = end
    return ends


def front_matter(lines: list[str]) -> int:
    """Return the line after the front matter; 0 without one."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    for number in range(1, min(len(lines), _MAX_LINES)):
        if lines[number].rstrip() in ("---", "..."):
            return number + 1
    return 0


def in_front_matter(text: str) -> list[tuple[Declaration, int]]:
    """Return what ``params`` or ``parameters`` of a front matter declares, with lines counted from 0."""
    if len(text) > _MAX_FRONT or not (head := re.search(r"^(params|parameters)\s*:", text, re.M)):
        return []
    values = _yaml(text).get(head[1])
    if isinstance(values, list):
        values = {str(each.get("name")): each for each in values if isinstance(each, dict) and "name" in each}
    if not isinstance(values, dict):
        return []
    first = text[: head.start()].count("\n")
    places: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")[first:], first):
        if entry := _ENTRY.match(line):
            places.setdefault(entry[1], number)
    named = [(name, value) for name, value in list(values.items())[:200] if _NAME.fullmatch(name)]
    return [(_in_yaml(name, value), places.get(name, first)) for name, value in named]


def front_matter_values(text: str) -> dict[str, JsonValue]:
    """Return the values of a front matter; empty when it is too long, or not YAML with plain values."""
    return _yaml(text) if len(text) <= _MAX_FRONT else {}


def front_matter_fault(text: str) -> str | None:
    """Return why a front matter that mentions parameters declares none; None when it is valid."""
    if not re.search(r"^(params|parameters)\s*:", text, re.M):
        return None
    if len(text) > _MAX_FRONT:
        return f"it has more than {_MAX_FRONT:,} characters"
    return None if _yaml(text) else "it is not YAML with plain values"


def parameter_faults(markdown: str, given: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the faults of the given values, by name."""
    if not given:
        return {}
    known = declarations(markdown)
    faults: dict[str, str] = {}
    for name, value in given.items():
        if name not in known:
            if known or not _NAME.fullmatch(name):
                faults[name] = f"the document has no parameter {name[:100]!r}; it has {', '.join(known) or 'none'}"
            continue
        try:
            known[name].fit(value)
        except ValueError as error:
            faults[name] = f"parameter {name!r}: {error}"
    return faults


def parameters_schema(markdown: str) -> dict[str, JsonValue]:
    """Return a JSON Schema for ``parameters`` of a submit."""
    return {
        "type": "object",
        "properties": {name: declaration.schema() for name, declaration in declarations(markdown).items()},
        "additionalProperties": False,
    }


def _assigned(line: str) -> Declaration | None:
    match = _ASSIGNED.match(line)
    if match is None:
        return None
    try:
        value = ast.literal_eval(match[2].strip().rstrip(";"))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return Declaration(match[1], "any", {})
    preset = _as_json(value)
    return Declaration(match[1], _kind_of(preset, whole=False), {}, preset=preset)


def _in_yaml(name: str, value: JsonValue) -> Declaration:
    """Return the declaration of a default, or of a mapping with JSON Schema keywords."""
    if not isinstance(value, dict) or not {"type", "default", "value", "enum", "choices"} & set(value):
        return Declaration(name, _kind_of(value), {}, preset=value)
    default = value.get("default", value.get("value"))
    options = {_KEYWORDS[key]: _text(bound) for key, bound in value.items() if key in _KEYWORDS}
    choices = value.get("enum", value.get("choices"))
    type_ = str(value.get("type", ""))
    kind = _TYPES.get(type_, type_) or ("enum" if isinstance(choices, list) else _kind_of(default))
    if kind == "str":
        kind = _FORMATS.get(str(value.get("format", "")), "str")
    known = kind if kind in (*_JSON_KINDS, *_FORMATS.values()) else "any"
    return Declaration(name, known, options, tuple(choices) if isinstance(choices, list) else (), default)


_JSON_KINDS = ("bool", "int", "num", "str", "list", "object", "enum", "any", "timestamp")


def _kind_of(value: JsonValue, whole: bool = True) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "int" if whole and isinstance(value, int) else "num"
    return "str" if isinstance(value, str) else "list" if isinstance(value, list) else "object" if value else "any"


def _text(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _yaml(text: str) -> dict[str, JsonValue]:
    try:
        from shared import plain_yaml  # noqa: PLC0415 - the client's installation has no YAML, and reads no documents
    except ModuleNotFoundError:
        return {}
    try:
        read = next(plain_yaml.documents(text, most=_MAX_VALUES), None)
    except plain_yaml.NotPlain:
        return {}
    return {str(key): _as_json(value) for key, value in read.items()} if isinstance(read, dict) else {}


def _as_json(value: object) -> JsonValue:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, dict):
        return {str(key): _as_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_as_json(inner) for inner in value]
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)
