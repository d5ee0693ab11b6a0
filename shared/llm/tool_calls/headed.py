"""Calls written as the name of a tool at the start of a line, followed by its parameters in any notation."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache

from pydantic import JsonValue

from shared.llm.json_text import AnswerUnreadable
from shared.llm.tool_calls.known import KnownTools, Params
from shared.llm.tool_calls.python import NamedParams, calls_in_code

_DECODER = json.JSONDecoder()
_MAX_BODY = 20_000  #: characters of the parameters of one call
_SPECIAL = r"<[|｜][^<>\n]{1,60}[|｜]>|</?[\w:]{1,40}>|<<\w{1,40}>>|\[[A-Z_]{3,40}\]|✿\w{1,40}✿"
_LABELS = (
    r"tool(?:[ _]?(?:name|call))?|function(?:[ _]?(?:name|call))?|action|call|name|step|use|using|calling|invoke|run"
    r"|await|return"
)
#: What stands before the name on its line: marks of a list or heading, tokens, and words such as ``Action:``.
_BEFORE = rf"(?P<before>(?:[ \t>#*•`$\d.)→»-]|(?:{_SPECIAL})[:=]?|\b(?:{_LABELS})\b[:=]?){{0,40}}+)"
#: What stands between the name and its parameters.
_AFTER = re.compile(
    rf"(?:[\s:>=#*`_]|{_SPECIAL}|(?<=\])[\w-]{{1,40}}(?=\[[A-Z_])|```\w*"
    r"|\b(?:with|action|tool|function|the|inputs?|parameters|params|arguments|args|json)\b)*+",
    re.IGNORECASE,
)
_PAIR = re.compile(r"[ \t]*(?:[-*•][ \t]*)?[`*\"']*(?P<key>[A-Za-z_][\w -]*?)[`*\"']*[ \t]*[:=][ \t`*]*(?P<value>.+)")
_FLAGGED = re.compile(r"-{1,2}[A-Za-z]|[\w-]+=")
_ENDS_LINE = re.compile(rf"(?:[ \t;,.`*)\]>\"']|{_SPECIAL})*(?:(?://|#)[^\n]*)?(?:\n|\Z)")
_CLOSING = {"{": "}", "(": ")", "[": "]"}
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|[{}()\[\]]")

_Body = tuple[Params, int]


def calls_in_heads(text: str, known: KnownTools) -> tuple[list[NamedParams], str]:
    """Return the calls whose name begins a line, in order, and the text without them.

    Raises: AnswerUnreadable when the parameters of one cannot be read.
    """
    text = text.replace("<escape>", '"')
    calls: list[NamedParams] = []
    rest: list[str] = []
    reached = 0
    for head in _heads(tuple(known.names)).finditer(text):
        if head.start() < reached:
            continue
        name = known.resolve(head["name"])
        body = _body(text, head.end(), name, known)
        if body is None:
            if _seems_called(head, text, name, known):
                raise AnswerUnreadable(f"the parameters of {name} cannot be read: {_excerpt(text, head)}")
            continue
        calls.append((name, body[0]))
        rest.append(text[reached : head.start()])
        reached = body[1]
    return calls, "".join([*rest, text[reached:]])


@lru_cache(maxsize=16)
def _heads(names: Sequence[str]) -> re.Pattern[str]:
    spelled = (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "[_-]?", re.escape(name)) for name in names)
    alternatives = "|".join(sorted(spelled, key=len, reverse=True)) or r"(?!)"
    return re.compile(
        rf"^{_BEFORE}(?:\w{{1,40}}[.:/]){{0,4}}(?P<name>{alternatives})(?::\d+)?[`*\"']*(?![\w])",
        re.IGNORECASE | re.MULTILINE,
    )


def _seems_called(head: re.Match[str], text: str, name: str, known: KnownTools) -> bool:
    """Return whether a name that has no readable parameters is meant as a call, and not a word of a sentence."""
    following = text[_end_of_noise(text, head.end()) :][:1]
    return following in (*_CLOSING, "-") or bool(known.required(name) and re.search(r"\w", head["before"]))


def _excerpt(text: str, head: re.Match[str]) -> str:
    return repr(text[head.start("name") :][:60])


def _end_of_noise(text: str, at: int) -> int:
    noise = _AFTER.match(text, at, at + 500)
    return noise.end() if noise else at


def _body(text: str, at: int, name: str, known: KnownTools) -> _Body | None:
    """Return the parameters after a name, and where they end."""
    start = _end_of_noise(text, at)
    opening = text[start : start + 1]
    readers: Sequence[Callable[[str, int, str, KnownTools], _Body | None]] = (
        (_bracketed,) if opening in _CLOSING and opening else (_flags, _pairs)
    )
    for read in readers:
        for begin in dict.fromkeys((start, at)):
            body = read(text, begin, name, known)
            if body is not None and known.accepts(name, params := known.fitted(name, body[0])):
                return params, body[1]
    if not known.required(name) and not text[start:].strip(" \t\n`*_"):
        return {}, len(text)
    return None


def _bracketed(text: str, at: int, name: str, known: KnownTools) -> _Body | None:
    """Read ``{"label": "A"}``, ``{label: "A"}``, ``(label="A")``, ``[label="A"]``."""
    if text[at : at + 1] == "{":
        try:
            value, end = _DECODER.raw_decode(text, at)
            return (value, end) if isinstance(value, dict) else None
        except (ValueError, RecursionError):
            pass
    closed = _balanced(text, at)
    if closed is None or not _ENDS_LINE.match(text, closed):
        return None
    inner = text[at + 1 : closed - 1]
    code = calls_in_code(f"{name}({{{inner}}})" if text[at] == "{" else f"{name}({inner})", known)
    return None if code is None else (dict(code[0][1]), closed)


def _balanced(text: str, at: int) -> int | None:
    """Return the offset after the bracket that closes the one at ``at``; brackets in quotes do not count."""
    open_brackets: list[str] = []
    for match in _QUOTED.finditer(text, at, at + _MAX_BODY):
        mark = match[0]
        if mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif mark in _CLOSING.values():
            if not open_brackets or open_brackets.pop() != mark:
                return None
            if not open_brackets:
                return match.end()
    return None


def _flags(text: str, at: int, name: str, known: KnownTools) -> _Body | None:
    """Read the rest of a line: ``--label "A" --parentNodeId home``, ``label="A" parentNodeId=home``."""
    end = text.find("\n", at)
    line = text[at : len(text) if end < 0 else end].strip(" \t`;:")
    if not _FLAGGED.match(line):
        return None
    if code := calls_in_code(f"{name}({line})", known):
        return dict(code[0][1]), at + len(text[at:].split("\n", 1)[0])
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    params: Params = {}
    while words:
        key, equals, value = words.pop(0).rstrip(",").partition("=")
        if not equals:
            if not key.startswith("-") or not words:
                return None
            value = words.pop(0)
        params[key.lstrip("-")] = value.rstrip(",") if equals else value
    return params, len(text) if end < 0 else end


def _pairs(text: str, at: int, name: str, known: KnownTools) -> _Body | None:
    """Read the following lines: ``- label: A``."""
    params: dict[str, JsonValue] = {}
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        pair = _PAIR.fullmatch(text, at, end)
        if pair is None:
            if text[at:end].strip(" \t`*:"):
                break
        else:
            params[pair["key"].strip()] = _unquoted(pair["value"].strip())
        at = end + 1
    return (params, min(at, len(text))) if params else None


def _unquoted(text: str) -> str:
    text = text.rstrip("`,")
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
