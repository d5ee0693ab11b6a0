"""The tagged answer: ``<thinking>...</thinking><response>[{"type": "tool_use", "name", "input"}]</response>``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from shared.llm.chat import ToolUse
from shared.llm.json_text import AnswerUnreadable, Parsed, parse, parse_cut

_THINKING = re.compile(r"<\s*thinking\s*>", re.IGNORECASE)
_THOUGHT = re.compile(r"<\s*/\s*thinking\s*>", re.IGNORECASE)
_RESPONSE = re.compile(r"<\s*response\s*>", re.IGNORECASE)
_END = r"<\s*/\s*response\s*>"
#: The closing tag, but not inside a string or a comment.
_RESPONDED = re.compile(rf'"(?:\\.|[^"\\])*"|//[^\n]*?(?={_END}|\n|\Z)|/\*.*?\*/|({_END})', re.DOTALL | re.IGNORECASE)
_PARAMS = ("input", "params", "parameters", "arguments")


@dataclass(frozen=True)
class Tagged:
    """What a tagged answer says; ``error`` when its calls cannot be read, and then there are none."""

    thinking: str
    calls: tuple[ToolUse, ...] = ()
    repaired: bool = False
    truncated: bool = False
    answered: bool = True  #: there was a response tag
    error: str | None = None


def parse_tagged(text: str) -> Tagged:
    """Read the first thinking and the first response; half a call is never returned."""
    thinking, rest = _split_thinking(text)
    opened = _RESPONSE.search(rest)
    if opened is None:
        return Tagged(thinking, answered=False)
    body, closed = _split_response(rest[opened.end() :])
    if closed and not body.strip():
        return Tagged(thinking)
    try:
        parsed = parse(body) if closed else parse_cut(body)
        calls, slip = _calls(parsed)
    except AnswerUnreadable as error:
        return Tagged(thinking, truncated=not closed, error=str(error))
    return Tagged(thinking, calls, parsed.repaired or slip, parsed.truncated)


def _split_thinking(text: str) -> tuple[str, str]:
    """The first thought and what follows it; one that comes after the response is none."""
    opened, response = _THINKING.search(text), _RESPONSE.search(text)
    if opened is None or (response is not None and response.start() < opened.start()):
        return "", text
    closed = _THOUGHT.search(text, opened.end())
    if closed is None:  # it forgot to end its thought
        end = response.start() if response is not None else len(text)
        return text[opened.end() : end].strip(), text[end:]
    return text[opened.end() : closed.start()].strip(), text[closed.end() :]


def _split_response(text: str) -> tuple[str, bool]:
    """The response up to its closing tag, and whether there is one."""
    for match in _RESPONDED.finditer(text):
        if match[1]:
            return text[: match.start()], True
    ends = list(re.finditer(_END, text, re.IGNORECASE))
    if ends:  # quotes do not match up: take everything
        return text[: ends[-1].start()], True
    return text, False


def _calls(parsed: Parsed) -> tuple[tuple[ToolUse, ...], bool]:
    """The calls, and whether one of them needed a mend. Raises: AnswerUnreadable."""
    items = parsed.value if isinstance(parsed.value, list) else [parsed.value]
    calls, slips = [], False
    for number, item in enumerate(items, 1):
        call, slip = _call(number, item)
        calls.append(call)
        slips = slips or slip
    return tuple(calls), slips


def _call(number: int, item: JsonValue) -> tuple[ToolUse, bool]:
    if not isinstance(item, dict):
        raise AnswerUnreadable(f"item {number} is no tool call")
    name = item.get("name")
    if not isinstance(name, str) or not name.strip():
        raise AnswerUnreadable(f"item {number} has no tool name")
    key = next((key for key in _PARAMS if item.get(key) is not None), "input")
    params = item.get(key)
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise AnswerUnreadable(f"the input of item {number} is no object")
    given = item.get("id")
    identity = str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) and given != "" else ""
    return ToolUse(identity or f"call_{number}", name, params), key not in ("input", "params")
