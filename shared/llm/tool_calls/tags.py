"""Calls out of tags of any name: an element that names a tool, with its parameters in attributes, elements or JSON."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.llm.json_text import AnswerUnreadable, parse
from shared.llm.tool_calls.known import KnownTools, Params
from shared.llm.tool_calls.python import NamedParams, calls_in_code

MAX_NESTED = 200
#: ``<｜DSML｜invoke`` is ``<invoke``.
_MARKED_NAME = re.compile(r"(</?)\s*[|｜][^|｜<>]{1,20}[|｜]\s*(?=[A-Za-z])")
_TAG = re.compile(
    r"<(?P<close>/?)\s*(?:[\w.-]+:)?(?P<name>[A-Za-z_][\w.-]*)"
    r"(?P<attributes>(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))*)\s*(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>=]+))")
_CDATA = re.compile(r"\A\s*<!\[CDATA\[(.*)\]\]>\s*\Z", re.DOTALL)
_FENCE = re.compile(r"\A\s*```\w*|```\s*\Z")
_NAMES = frozenset({"name", "tool", "function", "tool_name", "function_name", "toolname", "action", "command"})
_NAMED_BY = _NAMES | {"type"}
_WRAPPERS = frozenset(
    {"arguments", "parameters", "params", "input", "args", "tool_input", "kwargs", "inputs", "action_input"}
)
_PARAMETERS = frozenset({"parameter", "param", "arg", "argument", "property", "field", "item"})
_KEYS = ("name", "key", "param")


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    start: int
    inside: int  #: where its content begins
    end: int = 0  #: where its content ends
    after: int = 0
    children: list[_Element] = field(default_factory=list)


def calls_in_tags(text: str, known: KnownTools) -> tuple[list[NamedParams], str]:
    """Return the calls of the elements that name a tool, in order, and the text without them.

    Raises: AnswerUnreadable when the parameters of one cannot be read.
    """
    text = _MARKED_NAME.sub(r"\1", text)
    calls: list[NamedParams] = []
    rest: list[str] = []
    reached = 0
    for element, written in _named(_tree(text), text, known):
        name = known.resolve(written)
        calls.append((name, known.fitted(name, _params(element, text, name, known))))
        rest.append(text[reached : element.start])
        reached = element.after
    return calls, "".join([*rest, text[reached:]])


def _tree(text: str) -> list[_Element]:
    """Return the elements that are closed; what is in one that is not belongs to the one around it.

    Raises: AnswerUnreadable when they are nested too deeply.
    """
    root = _Element("", {}, 0, 0)
    stack = [root]
    opened: Counter[str] = Counter()
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["close"]:
            attributes = {key.lower(): a or b or c for key, a, b, c in _ATTRIBUTE.findall(tag["attributes"])}
            element = _Element(tag["name"], attributes, tag.start(), tag.end(), tag.end(), tag.end())
            if tag["empty"]:
                stack[-1].children.append(element)
            else:
                if len(stack) > MAX_NESTED:
                    raise AnswerUnreadable(f"tags are nested deeper than {MAX_NESTED} levels")
                stack.append(element)
                opened[name] += 1
        elif opened[name]:
            while True:
                element = stack.pop()
                opened[element.name.lower()] -= 1
                if element.name.lower() == name:
                    break
                stack[-1].children += element.children
            element.end, element.after = tag.start(), tag.end()
            stack[-1].children.append(element)
    return [child for element in stack for child in element.children]


def _named(elements: Sequence[_Element], text: str, known: KnownTools) -> Iterator[tuple[_Element, str]]:
    """Yield the outermost elements that name a tool."""
    for element in elements:
        written = _written(element, text, known)
        if written is None:
            yield from _named(element.children, text, known)
        else:
            yield element, written


def _written(element: _Element, text: str, known: KnownTools) -> str | None:
    """Return the tool that an element names: by its tag, by an attribute, by an element in it."""
    inner = (text[child.inside : child.end].strip() for child in element.children if child.name.lower() in _NAMES)
    given = (value for key, value in element.attributes.items() if key in _NAMED_BY)
    return next((each for each in (element.name, *given, *inner) if each in known), None)


def _params(element: _Element, text: str, name: str, known: KnownTools) -> Params:
    """Return the parameters of a call. Raises: AnswerUnreadable."""
    params: Params = {}
    for key, value in element.attributes.items():
        if key in _WRAPPERS and key not in known.properties(name):
            params.update(_object(html.unescape(value), name, known))
        elif not (key in _NAMED_BY and value in known):
            params[key] = html.unescape(value)
    parts = [child for child in element.children if not _is_name(child, text, known)]
    if any(child.name.lower() in _WRAPPERS for child in parts):  # then others say where the tool is
        parts = [child for child in parts if child.name.lower() in _WRAPPERS or child.name in known.properties(name)]
    for child in parts:
        params.update(_part(child, text, name, known))
    if not parts and (body := _between(element, text)):
        params.update(_object(body, name, known))
    return params


def _is_name(element: _Element, text: str, known: KnownTools) -> bool:
    return element.name.lower() in _NAMES and text[element.inside : element.end].strip() in known


def _between(element: _Element, text: str) -> str:
    """Return the text of an element without that of the elements in it."""
    kept, reached = [], element.inside
    for child in element.children:
        kept.append(text[reached : child.start])
        reached = child.after
    return "".join([*kept, text[reached : element.end]]).strip()


def _part(element: _Element, text: str, name: str, known: KnownTools) -> Params:
    """Return what an element in a call means: one parameter, or several in a wrapper. Raises: AnswerUnreadable."""
    tag = element.name.lower()
    if tag in _WRAPPERS and element.name not in known.properties(name):
        return _params(element, text, name, known)
    if tag not in _PARAMETERS:
        return {element.name: _value(text[element.inside : element.end])}
    key = next((element.attributes[each] for each in _KEYS if each in element.attributes), None)
    if key is None:
        raise AnswerUnreadable(f"a parameter of {name} has no name")
    value = element.attributes.get("value")
    return {key: _value(text[element.inside : element.end]) if value is None else html.unescape(value)}


def _value(text: str) -> JsonValue:
    cdata = _CDATA.match(text)
    return cdata[1] if cdata else html.unescape(re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", text))


def _object(text: str, name: str, known: KnownTools) -> Params:
    """Return parameters written as JSON or as ``label="A"``. Raises: AnswerUnreadable."""
    cdata = _CDATA.match(text)
    body = _FENCE.sub("", cdata[1] if cdata else text).strip()
    if not body.startswith(("{", "[")) and (code := calls_in_code(f"{name}({body})", known)):
        return dict(code[0][1])
    value = parse(body).value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise AnswerUnreadable(f"the parameters of {name} are no object")
    return value
