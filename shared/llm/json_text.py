"""JSON as models write it: valid JSON is read as it is, usual mistakes are repaired, everything else is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from shared.bounded_process import BoundExceeded, Bounds, TaskLost, call
from shared.errors import Overloaded

MAX_CHARACTERS = 1_000_000
MAX_REPAIRED = 200_000  #: characters; longer texts are not repaired
MAX_DEPTH = 64
#: Some texts cost the library that repairs quadratic time.
_REPAIR = Bounds(memory_mb=512, cpu_seconds=3.0, wall_seconds=60.0, output_mb=16)

_STRING = r'"(?:\\.|[^"\\])*"?'
_COMMENTS = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMAS = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
_CONSTANTS = re.compile(rf"{_STRING}|(?<![\w.])(-?(?:NaN|Infinity))(?!\w)", re.DOTALL)
_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)|[\ud800-\udfff\x00]")
_BETWEEN = re.compile(r"[\s,;]*")


class AnswerUnreadable(ValueError):
    """The model's answer does not have the requested form; the message is for the model and for people."""


@dataclass(frozen=True)
class Parsed:
    value: JsonValue
    repaired: bool = False  #: it was not JSON until mistakes were repaired
    truncated: bool = False  #: it ended too early; only complete elements are here


def parse(text: str) -> Parsed:
    """Parse a whole text. Raises: AnswerUnreadable, Overloaded."""
    if len(text) > MAX_CHARACTERS:
        raise AnswerUnreadable(f"the answer is longer than {MAX_CHARACTERS} characters")
    if not text.strip():
        raise AnswerUnreadable("the answer is empty")
    for attempt in (_strict, _without_mistakes, _in_a_row, _repaired):
        parsed = attempt(text)
        if parsed is not None:
            return _checked(parsed, text)
    raise AnswerUnreadable(f"the answer is not JSON: {_complaint(text)}")


def parse_cut(text: str) -> Parsed:
    """Parse a truncated text: the complete elements of its array. Raises: AnswerUnreadable when it has none."""
    if len(text) > MAX_CHARACTERS:
        raise AnswerUnreadable(f"the answer is longer than {MAX_CHARACTERS} characters")
    _refuse_constants(text)
    body = without_comments(text).strip()
    elements = list(_elements(body[1:] if body.startswith("[") else body))
    if not elements:
        raise AnswerUnreadable("the answer was cut off before its first complete element")
    return _checked(Parsed(elements, truncated=True), text)


def without_comments(text: str) -> str:
    """Return the text without ``//`` and ``/* */`` comments; those inside strings stay."""
    return _COMMENTS.sub(lambda match: match[1] or " ", text)


def _strict(text: str) -> Parsed | None:
    value = _load(text)
    return None if value is _NOTHING else Parsed(cast(JsonValue, value))


def _without_mistakes(text: str) -> Parsed | None:
    """Comments are allowed; trailing commas are a mistake."""
    plain = without_comments(text)
    value = _load(plain)
    if value is not _NOTHING:
        return Parsed(cast(JsonValue, value))
    value = _load(_COMMAS.sub(lambda match: match[1] or "", plain))
    return None if value is _NOTHING else Parsed(cast(JsonValue, value), repaired=True)


def _in_a_row(text: str) -> Parsed | None:
    """Several objects one after the other."""
    body = without_comments(text).strip()
    if not body.startswith("{"):
        return None
    elements, end = [], 0
    while end < len(body):
        try:
            value, end = _DECODER.raw_decode(body, end)
        except (ValueError, RecursionError):
            return None
        elements.append(value)
        end = _end(body, end)
    return Parsed(elements, repaired=True)


def _repaired(text: str) -> Parsed | None:
    """Fences, prose around, Python literals, raw newlines, quotes inside strings."""
    if len(text) > MAX_REPAIRED or not re.search(r"[\[{]", text):
        return None
    _refuse_constants(text)
    _refuse_halves(text)
    body = text[_first_bracket(text) :]
    try:
        value = call("shared.llm.json_repairs:repair", body, _REPAIR)
    except BoundExceeded:
        return None
    except TaskLost:  # nothing is known about the text, so it is not called unreadable
        raise Overloaded("The answer of the model could not be read now; try again later.", retry_after=5) from None
    return Parsed(value, repaired=True) if isinstance(value, (dict, list)) and value else None


def _first_bracket(text: str) -> int:
    """Return the offset of the JSON: prose before it may hold anything but a line that starts with a bracket."""
    line = re.search(r"^\s*[\[{]", text, re.MULTILINE)
    return line.start() if line else next(match.start() for match in re.finditer(r"[\[{]", text))


def _elements(body: str) -> Iterator[JsonValue]:
    end = 0
    while True:
        end = _end(body, end)
        try:
            value, end = _DECODER.raw_decode(body, end)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, (dict, list)) and end == len(body):
            return  # a number or a word at the very end may be half of one
        yield value


def _end(body: str, start: int) -> int:
    match = _BETWEEN.match(body, start)
    return match.end() if match else start


def _load(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _refuse_constants(text: str) -> None:
    constant = next((match[1] for match in _CONSTANTS.finditer(text) if match[1]), None)
    if constant is not None:
        raise AnswerUnreadable(f"{constant} is not JSON")


def _refuse_halves(text: str) -> None:
    """Refuse a truncated text: a repair would complete it, and half a value would pass for a whole one."""
    last = max(text.rfind("]"), text.rfind("}"))
    if last < 0 or re.match(r"\s*,|[^\]}]*[\[{]", text[last + 1 :]):
        raise AnswerUnreadable("the answer ends in the middle")


def _complaint(text: str) -> str:
    _refuse_constants(text)
    try:
        json.loads(without_comments(text))
    except json.JSONDecodeError as error:
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    except RecursionError:
        return f"it is nested deeper than {MAX_DEPTH} levels"
    except ValueError as error:
        return str(error)[:100]
    return "a number in it is out of range"


def _checked(parsed: Parsed, text: str) -> Parsed:
    """Depth and numbers within bounds, and nothing that a database cannot store."""
    _check_bounds(parsed.value)
    if _UNSTORABLE.search(text):
        return Parsed(_storable(parsed.value), parsed.repaired, parsed.truncated)
    return parsed


def storable(value: JsonValue) -> JsonValue:
    """Return a value that was not read from JSON, as a database can store it. Raises: AnswerUnreadable."""
    _check_bounds(value)
    return _storable(value)


def _check_bounds(value: JsonValue) -> None:
    """Raise AnswerUnreadable when the value is nested too deeply or holds a number that is not finite."""
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return
        below: list[JsonValue] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
            elif isinstance(each, float) and not math.isfinite(each):
                raise AnswerUnreadable("a number in the answer is out of range")
        level = below
    if level:
        raise AnswerUnreadable(f"the answer is nested deeper than {MAX_DEPTH} levels")


def _storable(value: JsonValue) -> JsonValue:
    """Return the value without NUL and lone surrogates."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff\x00]", "\ufffd", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {str(_storable(name)): _storable(inner) for name, inner in value.items()}
    return value


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is out of range")
    return number


_NOTHING = object()
_DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)
