"""Calls between the marks of one model family or another: tags, special tokens, ``Action:`` lines."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from pydantic import JsonValue

from shared.llm.json_text import AnswerUnreadable, parse
from shared.llm.tool_calls.items import calls_in_json
from shared.llm.tool_calls.known import KnownTools, Params
from shared.llm.tool_calls.python import NamedParams, calls_in_code

_FLAGS = re.DOTALL | re.IGNORECASE
_NAME = r"(?P<name>[\w./:-]+)"
#: Tags around one call or several, whose inside is JSON, code, or tags again.
_BOXES = "tool_calls?|function_calls?|tool_uses?|use_tool|tool_code|toolcall|invoke_tool|tools?|action|calls?"
_BOX_OPENS = re.compile(rf"<(?:{_BOXES})\s*>", re.IGNORECASE)
_BOX_CLOSES = re.compile(rf"</(?:{_BOXES})\s*>", re.IGNORECASE)
#: Openings that name the tool, each with its closing; the parameters are between them.
_NAMED = (
    (
        re.compile(
            rf"<(?:\w+:)?(?:invoke|tool_call|function|tool|call)\s+(?:name|tool|function)\s*=\s*[\"']?{_NAME}[\"']?\s*>",
            _FLAGS,
        ),
        re.compile(r"</(?:\w+:)?(?:invoke|tool_call|function|tool|call)\s*>", _FLAGS),
    ),
    (
        re.compile(r"<function[=(]\s*(?P<name>[\w.-]+)\s*[)>]*", _FLAGS),
        re.compile(r"</function(?:=[\w.-]+)?\s*>", _FLAGS),
    ),
    (  # Kimi
        re.compile(r"<\|tool_call_begin\|>\s*(?P<name>[^<\s]+)\s*<\|tool_call_argument_begin\|>"),
        re.compile(r"<\|tool_call_end\|>"),
    ),
    (  # DeepSeek
        re.compile(r"<｜tool▁call▁begin｜>\s*(?:function\s*<｜tool▁sep｜>)?\s*(?P<name>[\w.-]+)\s*(?:<｜tool▁sep｜>)?"),
        re.compile(r"<｜tool▁call▁end｜>"),
    ),
    (  # gpt-oss
        re.compile(r"\bto=(?P<name>[\w.-]+)(?:[^<\n]|<\|(?:constrain|channel)\|>){0,100}<\|message\|>"),
        re.compile(r"<\|(?:call|end)\|>|(?<=\})\s*\Z"),
    ),
)  # fmt: skip
#: Openings that name the tool, and are followed by one JSON object.
_BEFORE_JSON = (
    re.compile(r"\[TOOL_CALLS\]\s*(?P<name>[A-Za-z_][\w.-]*)\s*(?:\[ARGS\])?\s*(?=\{)"),
    re.compile(
        r"^[ \t>*-]*Action\**:\**[ \t]*(?P<name>[\w./-]+)[ \t]*\n+[ \t>*-]*Action[ _]Input\**:\**\s*(?=\{)",
        re.IGNORECASE | re.MULTILINE,
    ),
)
#: Everything after the token is JSON or code.
_BEFORE_ALL = re.compile(r"<\|python_tag\|>|<\|tool_calls?\|>|\[TOOL_CALLS\]|\bfunctools(?=\[)", re.IGNORECASE)
_AFTER_ALL = re.compile(r"<\||\[TOOL_CALLS\]|\[/TOOL_CALLS\]|\Z")
_OPENED = re.compile(
    rf"<(?:{_BOXES})\s*>|<(?:\w+:)?invoke\s|<function[=(]|<\|tool_call|<｜tool▁call|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<\|message\|>|\bfunctools\[|^\W*Action[ _]Input\W*:",
    re.IGNORECASE | re.MULTILINE,
)
_TAGS_OF_PARAMETERS = "parameter|param|arg|argument"
_PARAMETER = re.compile(
    rf"<(?:\w+:)?(?:{_TAGS_OF_PARAMETERS})\s*(?:=\s*|\s+name\s*=\s*)[\"']?(?P<name>[\w.-]+)[\"']?[^<>]*>", _FLAGS
)
_PARAMETER_CLOSES = re.compile(rf"</(?:\w+:)?(?:{_TAGS_OF_PARAMETERS})\s*>", _FLAGS)
_KEY = re.compile(r"<arg_key>(?P<name>[^<]*)</arg_key>\s*<arg_value>")
_VALUE_CLOSES = re.compile(r"</arg_value>")
_NAME_TAG = re.compile(rf"<(?P<tag>name|tool_name|function_name|tool)\s*>\s*{_NAME}\s*</(?P=tag)\s*>", _FLAGS)
_PARAMS_TAG = re.compile(
    r"<(?P<tag>arguments|parameters|params|input|args|tool_input)\s*>(?P<body>.*)</(?P=tag)\s*>", _FLAGS
)
_CHILD = re.compile(r"<(?P<name>[A-Za-z_][\w.-]*)\s*>")
_ATTRIBUTE = re.compile(r"(?P<name>[A-Za-z_][\w-]*)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")
_FENCE = re.compile(r"\A```\w*|```\Z|(?<=\})[)>\s]+\Z")
_DECODER = json.JSONDecoder()

Span = tuple[int, int, Callable[[], list[NamedParams]]]


@dataclass
class MarkedCalls:
    """What the marks of a text hold."""

    calls: list[NamedParams] = field(default_factory=list)
    rest: str = ""  #: the text without them
    open: bool = False  #: a mark is opened whose call is not complete


def has_marks(text: str) -> bool:
    """Return whether the text has a mark of calls, complete or not."""
    return _OPENED.search(text) is not None


def calls_in_marks(text: str, known: KnownTools) -> MarkedCalls:
    """Return the calls between marks, in order. Raises: AnswerUnreadable for a closed mark that cannot be read."""
    named = sorted(_named_spans(text, known), key=lambda span: span[0])
    starts = [start for start, *_ in named]
    boxes = [span for span in _boxes(text, known) if not _holds(span, starts)]
    marked, reached, rest = MarkedCalls(), 0, []
    for start, end, read in sorted([*named, *boxes], key=lambda span: (span[0], -span[1])):
        if start < reached:
            continue
        rest.append(text[reached:start])
        reached = end
        try:
            marked.calls += read()
        except AnswerUnreadable:
            if end < len(text) or text.endswith(">"):
                raise
            marked.open = True
    marked.rest = "".join([*rest, text[reached:]])
    marked.open = marked.open or _opened_after(text, reached)
    return marked


def _opened_after(text: str, reached: int) -> bool:
    return any(_is_call_opening(match[0]) for match in _OPENED.finditer(text, reached))


def _is_call_opening(mark: str) -> bool:
    """Return whether the mark begins a call; a closed wrapper such as ``<function_calls>`` around calls does not."""
    return not re.match(
        r"<(?:tool_calls|function_calls|tool_uses|tools|calls)\s*>|<\|tool_calls?_?s?ection|<\|tool_calls_section",
        mark,
        _FLAGS,
    )


def _holds(box: Span, starts: list[int]) -> bool:
    index = bisect_left(starts, box[0])
    return index < len(starts) and starts[index] < box[1]


def _between(text: str, opens: re.Pattern[str], closes: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
    """Yield each opening with the text up to the next closing, and where that ends."""
    closings = [(match.start(), match.end()) for match in closes.finditer(text)]
    reached = 0
    for opened in opens.finditer(text):
        index = bisect_left(closings, (opened.end(), 0))
        if index == len(closings):
            return
        if opened.start() < reached:
            continue
        start, reached = closings[index]
        yield opened, text[opened.end() : start], reached


def _named_spans(text: str, known: KnownTools) -> Iterator[Span]:
    for opens, closes in _NAMED:
        for opened, body, end in _between(text, opens, closes):
            yield opened.start(), end, partial(_named, opened["name"], body, known)
    for opens in _BEFORE_JSON:
        for opened in opens.finditer(text):
            try:
                _, end = _DECODER.raw_decode(text, opened.end())
            except (ValueError, RecursionError):
                continue
            yield opened.start(), end, partial(_named, opened["name"], text[opened.end() : end], known)
    for name in known.names:
        if f"<{name}" not in text:
            continue
        empty = re.compile(rf"<{re.escape(name)}(?P<attributes>\s[^<>]*)/>")
        for match in empty.finditer(text):
            yield match.start(), match.end(), partial(_named, name, "", known, match["attributes"])
        opens = re.compile(rf"<{re.escape(name)}(?P<attributes>(?:\s[^<>]*[^<>/])?)>")
        for opened, body, end in _between(text, opens, re.compile(rf"</{re.escape(name)}\s*>")):
            yield opened.start(), end, partial(_named, name, body, known, opened["attributes"])


def _boxes(text: str, known: KnownTools) -> Iterator[Span]:
    """Yield the tags and tokens around JSON or code; a box that is not closed ends at the next one."""
    openings = list(_BOX_OPENS.finditer(text))
    closings = [(match.start(), match.end()) for match in _BOX_CLOSES.finditer(text)]
    for number, opened in enumerate(openings):
        following = openings[number + 1].start() if number + 1 < len(openings) else len(text)
        index = bisect_left(closings, (opened.end(), 0))
        stop, end = closings[index] if index < len(closings) else (following, following)
        if following < stop:
            stop = end = following
        yield opened.start(), end, partial(_boxed, text[opened.end() : stop], known, closed=stop < end)
    for opened in _BEFORE_ALL.finditer(text):
        closed = _AFTER_ALL.search(text, opened.end())
        stop = closed.start() if closed else len(text)
        yield opened.start(), stop, partial(_boxed, text[opened.end() : stop], known)


def _named(written: str, body: str, known: KnownTools, attributes: str = "") -> list[NamedParams]:
    """Return the call of a name and the text of its parameters. Raises: AnswerUnreadable."""
    name = known.resolve(written)
    params: Params = {
        match["name"]: html.unescape(match["double"] if match["double"] is not None else match["single"])
        for match in _ATTRIBUTE.finditer(attributes)
    }
    return [(name, known.fitted(name, params | _params(body, name)))]


def _params(body: str, name: str) -> Params:
    """Return the parameters in tags, or as JSON. Raises: AnswerUnreadable."""
    body = body.strip()
    for opens, closes in ((_PARAMETER, _PARAMETER_CLOSES), (_KEY, _VALUE_CLOSES)):
        if opens.search(body):
            values = {opened["name"].strip(): _value(value) for opened, value, _ in _between(body, opens, closes)}
            if len(values) < len(opens.findall(body)):
                raise AnswerUnreadable(f"the parameters of {name} are not closed")
            return values
    if boxed := _PARAMS_TAG.fullmatch(body):
        return _params(boxed["body"], name)
    if not body:
        return {}
    if body.startswith("<"):
        return _children(body, name)
    value = parse(_FENCE.sub("", body)).value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise AnswerUnreadable(f"the parameters of {name} are no object")
    return value


def _children(body: str, name: str) -> Params:
    """Return ``<label>A</label><parentNodeId>b</parentNodeId>``. Raises: AnswerUnreadable."""
    params: Params = {}
    at = 0
    while opened := _CHILD.match(body, at):
        end = body.find(f"</{opened['name']}>", opened.end())
        if end < 0:
            break
        params[opened["name"]] = _value(body[opened.end() : end])
        at = end + len(opened["name"]) + 3
        while at < len(body) and body[at].isspace():
            at += 1
    if at < len(body):
        raise AnswerUnreadable(f"the parameters of {name} cannot be read")
    return params


def _value(text: str) -> JsonValue:
    """Return the text of a tag; line ends next to the tags do not belong to it."""
    return html.unescape(re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", text))


def _boxed(body: str, known: KnownTools, *, closed: bool = True) -> list[NamedParams]:
    """Return the calls in a tag: JSON, code, or name and parameters in tags. Raises: AnswerUnreadable."""
    body = _FENCE.sub("", body.strip()).strip()
    if not body:
        return []
    if named := _NAME_TAG.search(body):
        rest = (body[: named.start()] + body[named.end() :]).strip()
        return _named(named["name"], rest, known)
    if keyed := _KEY.search(body):
        if not closed:
            raise AnswerUnreadable("the parameters of a call are not closed")
        return _named(body[: keyed.start()].strip(), body[keyed.start() :], known)
    if code := calls_in_code(body, known, any_name=True):
        return code
    if match := re.match(r"(?P<name>[A-Za-z_][\w./-]*)\s*(?=\{)", body):
        return _named(match["name"], body[match.end() :], known)
    return [(use.name, dict(use.params)) for use in calls_in_json(parse(body).value, known).uses]
