"""The tagged answer: ``<thinking>...</thinking><response>[{"type": "tool_use", "name", "input"}]</response>``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.llm.chat import Tool, ToolUse
from shared.llm.json_text import AnswerUnreadable, Parsed, parse, parse_cut
from shared.llm.reasoning import split_thoughts
from shared.llm.tool_calls.items import ReadCalls, calls_in_json
from shared.llm.tool_calls.known import KnownTools
from shared.llm.tool_calls.python import calls_in_code
from shared.llm.tool_calls.texts import calls_in_text, hints_at_calls

_THINKING = re.compile(r"<\s*thinking\s*>", re.IGNORECASE)
_THOUGHT = re.compile(r"<\s*/\s*thinking\s*>", re.IGNORECASE)
_RESPONSE = re.compile(r"<\s*response\s*>", re.IGNORECASE)
_END = r"<\s*/\s*response\s*>"
#: The closing tag, but not inside a string or a comment.
_RESPONDED = re.compile(rf'"(?:\\.|[^"\\])*"|//[^\n]*?(?={_END}|\n|\Z)|/\*.*?\*/|({_END})', re.DOTALL | re.IGNORECASE)
_END_TAG = re.compile(_END, re.IGNORECASE)
#: A text that ends with one of these ends with a whole call in every notation; in YAML any word may be half of one.
_ENDS = tuple("]})>;`")
_NO_RESPONSE = "the answer has no <response>"


@dataclass(frozen=True)
class Tagged:
    """The content of a tagged answer; ``error`` when its calls cannot be read, and then there are no calls."""

    thinking: str
    calls: tuple[ToolUse, ...] = ()
    repaired: bool = False
    truncated: bool = False
    answered: bool = True  #: there was a response tag
    error: str | None = None


def parse_tagged(text: str, tools: Sequence[Tool] = (), *, cut: bool = False) -> Tagged:
    """Read the first thinking and the calls of the first response, in any dialect; half a call is never returned.

    ``cut``: the model had to stop before its end.
    ``tools`` are those that were offered. Calls outside of the tags are read too; calls within the thinking
    alone are an error, because they may be only a plan.
    """
    known = KnownTools(tools)
    thinking, rest = _split_thinking(text)
    aloud, rest = split_thoughts(rest)
    thinking = "\n".join(filter(None, (thinking, aloud)))
    opened = _RESPONSE.search(rest)
    if opened is None:
        return _without_response(thinking, rest, known, cut=cut)
    body, closed = _split_response(rest[opened.end() :])
    if closed and not body.strip():
        outside = _without_response(thinking, _END_TAG.sub("", rest[: opened.start()] + rest[opened.end() :]), known)
        return outside if outside.calls or outside.error else Tagged(thinking)
    try:
        read = _read(body, closed, known)
    except AnswerUnreadable as error:
        return Tagged(thinking, truncated=not closed, error=str(error))
    return Tagged(thinking or read.thinking, read.uses, read.repaired, read.truncated)


def _without_response(thinking: str, rest: str, known: KnownTools, *, cut: bool = False) -> Tagged:
    """Read an answer without a response tag."""
    try:
        read = calls_in_text(rest, known)
        if read is not None and cut:
            _check_end(rest)
    except AnswerUnreadable as error:
        return Tagged(thinking, answered=False, error=str(error))
    if read is not None:
        return Tagged(thinking or read.thinking, read.uses, repaired=True, truncated=read.truncated)
    if not rest.strip() and hints_at_calls(thinking, known):
        return Tagged(thinking, answered=False, error="the calls are in <thinking>: send them in <response>")
    words = rest.strip() if thinking else ""
    return Tagged(thinking, answered=False, error=_NO_RESPONSE if words else None)


def _read(body: str, closed: bool, known: KnownTools) -> ReadCalls:
    """Return the calls of a response: plain JSON first, then other dialects, then JSON with mistakes.

    Raises: AnswerUnreadable.
    """
    complaint: AnswerUnreadable | None = None
    parsed: Parsed | None = None
    try:
        parsed = parse(body) if closed else parse_cut(body)
        if not parsed.repaired:
            return replace(calls_in_json(parsed.value, known), truncated=parsed.truncated)
    except AnswerUnreadable as error:
        complaint = error
    try:
        read = calls_in_text(body, known)
    except AnswerUnreadable:
        read = None
    if read is not None:
        if not closed:
            _check_end(body)
        return replace(read, repaired=True, truncated=read.truncated or not closed)
    if code := calls_in_code(body, known, any_name=True):
        uses = tuple(ToolUse(f"call_{number}", name, params) for number, (name, params) in enumerate(code, 1))
        return ReadCalls(uses, repaired=True, truncated=not closed)
    if complaint is not None or parsed is None:
        raise complaint or AnswerUnreadable("the answer is not JSON")
    return replace(calls_in_json(parsed.value, known), repaired=True, truncated=parsed.truncated)


def _check_end(text: str) -> None:
    """Raise AnswerUnreadable when the last call of a cut text may be half of one."""
    if not text.rstrip().endswith(_ENDS):
        raise AnswerUnreadable("the answer was cut off, and its last call may not be complete")


def _split_thinking(text: str) -> tuple[str, str]:
    """Return the thinking and the text after it; thinking after the response does not count."""
    opened, response = _THINKING.search(text), _RESPONSE.search(text)
    if opened is None or (response is not None and response.start() < opened.start()):
        return "", text
    closed = _THOUGHT.search(text, opened.end())
    if closed is None:  # it forgot to end its thought
        end = response.start() if response is not None else len(text)
        return text[opened.end() : end].strip(), text[end:]
    return text[opened.end() : closed.start()].strip(), text[closed.end() :]


def _split_response(text: str) -> tuple[str, bool]:
    """Return the response up to its closing tag, and whether it has one."""
    for match in _RESPONDED.finditer(text):
        if match[1]:
            return text[: match.start()], True
    ends = list(re.finditer(_END, text, re.IGNORECASE))
    if ends:  # quotes do not match up: take everything
        return text[: ends[-1].start()], True
    return text, False
