"""The parameters that a document declares: in its text, in its front matter, in a cell that is tagged for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from pydantic import JsonValue, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from shared.contracts.document_parameters import Declared, declared

DECLARED = re.compile(r"&\[([A-Za-z_]\w{0,99})\](?:\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\})?")
TAGGED = re.compile(r"(?:#\||:|--\||//\|)\s*tags:.*\bparameters\b")
_NAME = re.compile(r"[A-Za-z_]\w{0,99}")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)[^`]*\1(?!`)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,99})\s*(?::[^=\n]{1,50})?(?:=|<-)\s*([^#\n]{1,1000})")
_MOST_FRONT, _MOST_LINES, _MOST_VALUES, _MOST_LINE = 20_000, 1000, 2000, 20_000
_KEYWORDS = {
    "minimum": "min", "maximum": "max", "exclusiveMinimum": "emin", "exclusiveMaximum": "emax", "multipleOf": "mult",
    "minLength": "minlen", "maxLength": "maxlen", "pattern": "pattern", "title": "label", "label": "label",
    "min": "min", "max": "max", "step": "step",
}  # fmt: skip
_TYPES = {"integer": "int", "number": "num", "string": "str", "boolean": "bool", "array": "list", "float": "num"}
_FORMATS = {"date": "date", "time": "time", "date-time": "datetime", "duration": "duration"}


@dataclass(frozen=True)
class Place:
    """A declaration and the line that it stands on, from 0."""

    declared: Declared
    line: int
    source: str  #: ``text``, ``front`` or ``cell``


def in_text(markdown: str) -> Iterator[Declared]:
    """Every declaration outside of code, the first of each name."""
    known: set[str] = set()
    for place in places(markdown):
        if place.declared.name not in known:
            known.add(place.declared.name)
            yield place.declared


def places(markdown: str) -> Iterator[Place]:
    lines = markdown.removeprefix("\ufeff").split("\n")
    front = front_matter(lines)
    for one, number in in_front("\n".join(lines[1 : front - 1])) if front else ():
        yield Place(one, number + 1, "front")
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
            continue
        if fence:
            tagged = tagged or TAGGED.match(line.strip()) is not None
            if tagged and (one_ := _assigned(line)):
                yield Place(one_, number, "cell")
        elif "&[" in line:
            yield from (Place(one, number, "text") for one in _in_line(line))


def _in_line(line: str) -> Iterator[Declared]:
    bare = _SPAN.sub(lambda span: " " * len(span[0]), line) if len(line) <= _MOST_LINE else ""
    for match in DECLARED.finditer(bare):
        yield declared(match[1], match[2] or "")


def _comments(lines: list[str]) -> dict[int, int]:
    """By the lines where comments of HTML may begin, the lines after their ends."""
    found: dict[int, int] = {}
    end: int | None = None
    for number in range(len(lines) - 1, -1, -1):
        end = number + 1 if "-->" in lines[number] else end
        if end is not None and lines[number].lstrip(" \t").startswith("<!--"):
            found[number] = end
    return found


def front_matter(lines: list[str]) -> int:
    """The line after the front matter; 0 when there is none."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    for number in range(1, min(len(lines), _MOST_LINES)):
        if lines[number].rstrip() in ("---", "..."):
            return number + 1
    return 0


def in_front(text: str) -> list[tuple[Declared, int]]:
    """What ``params`` or ``parameters`` of a front matter declares, with lines from 0 in it."""
    if len(text) > _MOST_FRONT or not (head := re.search(r"^(params|parameters)\s*:", text, re.M)):
        return []
    values = _yaml(text).get(head[1])
    if isinstance(values, list):
        values = {str(one.get("name")): one for one in values if isinstance(one, dict) and "name" in one}
    if not isinstance(values, dict):
        return []
    found: list[tuple[Declared, int]] = []
    for name, value in list(values.items())[:200]:
        if _NAME.fullmatch(name):
            at = re.search(rf"^\s+(?:- *name: *)?[\"']?{name}[\"']?\s*(?::|$)", text[head.start() :], re.M)
            found.append((_in_yaml(name, value), text[: head.start() + (at.start() if at else 0)].count("\n")))
    return found


def front_fault(text: str) -> str | None:
    """Why a front matter that speaks of parameters declares none, in plain words; ``None`` when all is well."""
    if not re.search(r"^(params|parameters)\s*:", text, re.M):
        return None
    if len(text) > _MOST_FRONT:
        return f"it has more than {_MOST_FRONT:,} characters"
    return None if _yaml(text) else "it is no YAML with plain values"


def wrong(markdown: str, given: Mapping[str, JsonValue]) -> dict[str, str]:
    """What is wrong with the values given, by name, in plain words."""
    if not given:
        return {}
    known = {one.name: one for one in in_text(markdown)}
    found: dict[str, str] = {}
    for name, value in given.items():
        if name not in known:
            if known or not _NAME.fullmatch(name):
                found[name] = f"the document has no parameter {name[:100]!r}; it has {', '.join(known) or 'none'}"
            continue
        try:
            known[name].fit(value)
        except ValueError as error:
            found[name] = f"parameter {name!r}: {error}"
    return found


def refuse(wrong: Mapping[str, str]) -> None:
    """Raises: ValidationError that names each parameter."""
    lines = [
        InitErrorDetails(type=PydanticCustomError("value_error", "{words}", {"words": words}), loc=(name,), input=None)
        for name, words in wrong.items()
    ]
    if lines:
        raise ValidationError.from_exception_data("parameters", lines)


def schema(markdown: str) -> dict[str, JsonValue]:
    """A JSON Schema of what may be submitted as ``parameters``."""
    return {
        "type": "object",
        "properties": {one.name: one.schema() for one in in_text(markdown)},
        "additionalProperties": False,
    }


def _assigned(line: str) -> Declared | None:
    match = _ASSIGNED.match(line)
    if match is None:
        return None
    try:
        value = ast.literal_eval(match[2].strip().rstrip(";"))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return Declared(match[1], "any", {})
    plain = _plain(value)
    return Declared(match[1], _kind_of(plain, whole=False), {}, preset=plain)


def _in_yaml(name: str, value: JsonValue) -> Declared:
    """A default, or a mapping with keywords of a JSON Schema around one."""
    if not isinstance(value, dict) or not {"type", "default", "value", "enum", "choices"} & set(value):
        return Declared(name, _kind_of(value), {}, preset=value)
    default = value.get("default", value.get("value"))
    options = {_KEYWORDS[key]: _text(said) for key, said in value.items() if key in _KEYWORDS}
    choices = value.get("enum", value.get("choices"))
    named = str(value.get("type", ""))
    kind = _TYPES.get(named, named) or ("enum" if isinstance(choices, list) else _kind_of(default))
    if kind == "str":
        kind = _FORMATS.get(str(value.get("format", "")), "str")
    known = kind if kind in (*_JSON_KINDS, *_FORMATS.values()) else "any"
    return Declared(name, known, options, tuple(choices) if isinstance(choices, list) else (), default)


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
        import yaml  # noqa: PLC0415 - the client's installation has no YAML, and reads no documents
    except ModuleNotFoundError:
        return {}
    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    try:
        return {str(key): _plain(value) for key, value in read.items()} if isinstance(read, dict) else {}
    except (ValueError, RecursionError):
        return {}


def _plain(value: object, left: list[int] | None = None) -> JsonValue:
    """As JSON has it. Raises: ValueError when its references make it larger than it looks."""
    left = [_MOST_VALUES] if left is None else left
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("too many values")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner, left) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(inner, left) for inner in value]
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)
