"""Calls out of an answer's text: JSON alone, between marks, in code blocks or in prose, or written as code."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.llm.chat import ToolUse
from shared.llm.json_text import MAX_CHARACTERS, AnswerUnreadable, parse, storable
from shared.llm.tool_calls.data import data_in
from shared.llm.tool_calls.headed import calls_in_heads
from shared.llm.tool_calls.items import ReadCalls, calls_in_json, looks_like_calls
from shared.llm.tool_calls.known import KnownTools
from shared.llm.tool_calls.marks import calls_in_marks, has_marks
from shared.llm.tool_calls.python import NamedParams, calls_in_code
from shared.llm.tool_calls.tags import calls_in_tags

_FENCE_LINE = re.compile(r"[ \t]*(```|~~~)[ \t]*([^`\n]*)\Z")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])?\s*`?")
_CALL_LINE = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\s*[({:]")
_MADE_UP_ID = re.compile(r"call_\d+\Z")
_DECODER = json.JSONDecoder()
_TOKENS = re.compile(r"<[|｜][^<>|｜\n]{1,60}[|｜]>|</?(?:start|end)_function_(?:call|declaration|response)>")
_MAX_STARTS = 2_000  #: brackets in prose that are tried
_MAX_LINES = 40  #: of one call in prose


@dataclass(frozen=True)
class _Reading:
    """Calls, and the text around them."""

    calls: ReadCalls
    rest: str = ""


def calls_in_text(text: str, known: KnownTools) -> ReadCalls | None:
    """Return the calls of an answer, None when it holds none.

    Raises: AnswerUnreadable when it seems to hold calls that cannot be read; some of its calls are never taken alone.
    """
    if len(text) > MAX_CHARACTERS:
        raise AnswerUnreadable(f"the answer is longer than {MAX_CHARACTERS} characters")
    complaint: AnswerUnreadable | None = None
    for read in _READERS if known else _READERS_OF_ANY:
        if complaint is not None and read not in _LENIENT:
            continue  # what a strict notation got wrong is not read by another one
        try:
            reading = read(text, known)
        except AnswerUnreadable as error:
            complaint = complaint or error
            continue
        if reading is not None and not _holds_more(reading, known):
            return reading.calls
    if complaint is not None:
        raise complaint
    if hints_at_calls(text, known):
        raise AnswerUnreadable("the answer seems to hold tool calls, but not in a form that can be read")
    return None


def _plain(text: str, known: KnownTools) -> _Reading | None:
    """Read a text with escaped tags, with typographic quotes, or with the special tokens of a model family."""
    plain = text
    if not has_marks(text) and re.search(r"&lt;/?\w", text):
        plain = html.unescape(plain)
    if '"' not in plain:
        plain = re.sub(r"[“”„‟]", '"', plain)
    plain = _TOKENS.sub("\n", plain)
    read = None if plain == text else calls_in_text(plain, known)
    return None if read is None else _Reading(read)


def _tags(text: str, known: KnownTools) -> _Reading | None:
    calls, rest = calls_in_tags(text, known) if "<" in text else ([], "")
    return _Reading(_of(calls), rest) if calls else None


def _headed(text: str, known: KnownTools) -> _Reading | None:
    calls, rest = calls_in_heads(text, known)
    return _Reading(_of(calls), rest) if calls else None


def _data(text: str, known: KnownTools) -> _Reading | None:
    """Read a text that is YAML or TOML, and nothing else."""
    if re.match(r"\s*(?:\{|\[(?!\[\w))", text):
        return None
    value = data_in(text)
    if value is None or not looks_like_calls(value, known):
        return None
    read = calls_in_json(value, known)
    return _Reading(read) if all(known.accepts(use.name, dict(use.params)) for use in read.uses) else None


def hints_at_calls(text: str, known: KnownTools) -> bool:
    """Return whether the text has marks of calls, or names a tool as only a call does."""
    if has_marks(text) or '"tool_use"' in text or '"tool_calls"' in text:
        return True
    names = _alternatives(known)
    return bool(names) and re.search(rf"\b(?:{names})\b[\"'`]?\s*[({{:=,\[<]", text) is not None


def _holds_more(reading: _Reading, known: KnownTools) -> bool:
    """Return whether there is another call in what was not read; prose may name tools."""
    rest = reading.rest
    if not rest.strip():
        return False
    names = _alternatives(known)
    quoted = rf"[\"'](?:{names})[\"']\s*[,:}}\]]|^\s*(?:{names})\s*[({{]"
    if not reading.calls.truncated:  # else it is known that there is half a call
        quoted += rf"|=\s*[\"']?(?:{names})\b|<(?:{names})\b|^\W*(?:Action|Tool|Function)\W*:\W*(?:{names})\b"
    return '"tool_use"' in rest or (bool(names) and re.search(quoted, rest, re.MULTILINE) is not None)


def _alternatives(known: KnownTools) -> str:
    return "|".join(re.escape(name) for name in known.names)


def _whole(text: str, known: KnownTools) -> _Reading | None:
    """Read a text that is JSON, and nothing else."""
    try:
        parsed = parse(text) if text.lstrip()[:1] in ("[", "{", '"') else None
        if parsed is None or parsed.repaired or not looks_like_calls(parsed.value, known):
            return None
        return _Reading(calls_in_json(parsed.value, known))
    except AnswerUnreadable:
        return None


def _repaired(text: str, known: KnownTools) -> _Reading | None:
    """Read JSON with mistakes, and prose around it. Raises: AnswerUnreadable."""
    if not re.search(r"[\[{]", text) or not hints_at_calls(text, known):
        return None
    parsed = parse(text)
    return _Reading(replace(calls_in_json(parsed.value, known), repaired=True))


def _marked(text: str, known: KnownTools) -> _Reading | None:
    if not has_marks(text) and "Action" not in text and not any(f"<{name}" in text for name in known.names):
        return None
    marked = calls_in_marks(text, known)
    if marked.open and not marked.calls:
        raise AnswerUnreadable("the answer was cut off before its first complete call")
    return _Reading(replace(_of(marked.calls), truncated=marked.open), marked.rest) if marked.calls else None


def _code(text: str, known: KnownTools) -> _Reading | None:
    calls = calls_in_code(text, known)
    return _Reading(_of(calls)) if calls else None


def _fenced(text: str, known: KnownTools) -> _Reading | None:
    """Read the code blocks; blocks of something else are left alone, and their text counts as prose."""
    blocks, rest = _blocks(text)
    read: list[ReadCalls] = []
    for block in blocks:
        reading = _whole(block, known) or _marked(block, known) or _code(block, known) or _data(block, known)
        if reading is None:
            reading = _repaired(block, known) if block.lstrip()[:1] in ("[", "{") else _lines(block, known)
        if reading is None:
            rest += block
        else:
            read.append(reading.calls)
            rest += reading.rest
    return _Reading(_joined(read), rest) if read else None


def _blocks(text: str) -> tuple[list[str], str]:
    """Return the contents of the fenced blocks, and the text around them; the last block may be open."""
    blocks: list[str] = []
    rest: list[str] = []
    inside: list[str] | None = None
    for line in text.splitlines():
        fence = _FENCE_LINE.match(line)
        if fence and inside is not None and not fence[2].strip():
            blocks.append("\n".join(inside))
            inside = None
        elif fence and inside is None:
            inside = []
        else:
            (rest if inside is None else inside).append(line)
    if inside is not None:
        blocks.append("\n".join(inside))
    return blocks, "\n".join(rest)


def _in_prose(text: str, known: KnownTools) -> _Reading | None:
    """Read the JSON values within prose."""
    read: list[ReadCalls] = []
    rest: list[str] = []
    reached = end = 0
    for number, match in enumerate(re.finditer(r"[\[{]", text)):
        if match.start() < end or number > _MAX_STARTS:
            continue
        try:
            _, end = _DECODER.raw_decode(text, match.start())
            value = parse(text[match.start() : end]).value
        except (ValueError, RecursionError):
            continue
        if looks_like_calls(value, known):
            read.append(calls_in_json(value, known))
            rest.append(text[reached : match.start()])
            reached = end
    return _Reading(_joined(read), "".join([*rest, text[reached:]])) if read else None


def _lines(text: str, known: KnownTools) -> _Reading | None:
    """Read the calls that begin a line of prose: ``addNode(label="A")``, ``addNode {"label": "A"}``.

    Raises: AnswerUnreadable.
    """
    calls: list[NamedParams] = []
    rest: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start = _BULLET.sub("", lines[at])
        call = _CALL_LINE.match(start)
        if call is None or call["name"] not in known:
            rest.append(lines[at])
            at += 1
            continue
        for height in range(1, min(_MAX_LINES, len(lines) - at) + 1):
            statement = "\n".join([start, *lines[at + 1 : at + height]]).rstrip("`; \t\n")
            if read := _statement(statement, known):
                calls += read
                at += height
                break
        else:
            raise AnswerUnreadable(f"the call {start[:100]!r} cannot be read: write its arguments as literal values")
    return _Reading(_of(calls), "\n".join(rest)) if calls else None


def _statement(statement: str, known: KnownTools) -> list[NamedParams] | None:
    if code := calls_in_code(statement, known):
        return code
    match = re.match(r"(?P<name>[A-Za-z_][\w.]*)\s*:?\s*(?=\{)", statement)
    if match is None:
        return None
    try:
        params = json.loads(statement[match.end() :])
    except (ValueError, RecursionError):
        return None
    name = known.resolve(match["name"])
    return [(name, known.fitted(name, params))]


def _joined(parts: Sequence[ReadCalls]) -> ReadCalls:
    """Join the calls; ids that were made up are numbered through."""
    calls = [use for part in parts for use in part.uses]
    uses = tuple(
        replace(use, id=f"call_{number}") if _MADE_UP_ID.match(use.id) else use for number, use in enumerate(calls, 1)
    )
    return ReadCalls(uses, True, "".join(part.thinking for part in parts), any(part.truncated for part in parts))


def _of(calls: Sequence[NamedParams]) -> ReadCalls:
    """Number the calls, without what cannot be stored. Raises: AnswerUnreadable for a number out of range."""
    uses = []
    for number, (name, params) in enumerate(calls, 1):
        kept = storable(params)
        assert isinstance(kept, dict)
        uses.append(ToolUse(f"call_{number}", name, kept))
    return ReadCalls(tuple(uses), repaired=True)


_Reader = Callable[[str, KnownTools], _Reading | None]
#: From the strict notations to the lenient ones; these check every parameter against the tool's definition.
_LENIENT: Sequence[_Reader] = (_data, _tags, _headed, _plain)
_READERS_OF_ANY: Sequence[_Reader] = (_whole, _marked, _code, _fenced, _in_prose, _lines, _repaired)
_READERS: Sequence[_Reader] = (
    _whole, _marked, _code, _fenced, _in_prose, _lines, *_LENIENT, _repaired,
)  # fmt: skip
