"""The tools that a call can mean: names and parameters in any spelling become those of the definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from shared.llm.chat import Tool
from shared.llm.json_text import AnswerUnreadable, parse

Params = dict[str, JsonValue]

_SEPARATORS = re.compile(r"[./:]+|__|->")
_NUMBERED = re.compile(r"(?::\d+|\([^()=]*\))\Z")
#: ``flow_addNode``, ``Flow-addNode``: the tool behind the name of what has it.
_NAMESPACE = re.compile(
    r"\w*?(?:flow|function|tool|api|mcp|plugin|diagram|graph|canvas|editor|assay)\w*?[-_](?=[A-Za-z])", re.IGNORECASE
)
_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_WRAPPERS = frozenset({"input", "params", "parameters", "arguments", "args", "kwargs"})
#: What a model calls one call among others, as opposed to a value of the tool's own parameter ``id``.
_CALL_ID = re.compile(
    r"(?:(?:call|toolu|tool|tc|fc|chatcmpl|t|c)[-_]?\w*|\d+|[0-9a-f]{8}-[0-9a-f-]{27})\Z", re.IGNORECASE
)


class KnownTools:
    """The tools that were offered; none when the caller takes any."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._spellings = {_plain(name): name for name in self._tools}

    def __contains__(self, written: str) -> bool:
        return self.resolve(written) in self._tools

    def __bool__(self) -> bool:
        return bool(self._tools)

    @property
    def names(self) -> Sequence[str]:
        return list(self._tools)

    def resolve(self, written: str) -> str:
        """``functions.add_node:0`` is ``addNode`` when that is the tool; a name that fits no tool stays as written."""
        name = written.strip()
        if name in self._tools:
            return name
        bare = _NUMBERED.sub("", name)
        last = _SEPARATORS.split(bare)[-1]
        behind = _NAMESPACE.match(last)
        for candidate in (bare, last, last[behind.end() :] if behind else ""):
            if known := self._spellings.get(_plain(candidate)):
                return known
        return bare.removeprefix("functions.") or name

    def properties(self, name: str) -> Mapping[str, JsonValue]:
        tool = self._tools.get(name)
        properties = tool.parameters.get("properties") if tool else None
        return properties if isinstance(properties, dict) else {}

    def required(self, name: str) -> Sequence[str]:
        tool = self._tools.get(name)
        required = tool.parameters.get("required") if tool else None
        return [each for each in required if isinstance(each, str)] if isinstance(required, list) else []

    def is_call_id(self, name: str, value: JsonValue) -> bool:
        """Return whether an ``id`` next to a call's name is the call's own, not a value of the tool's parameter."""
        return "id" not in self.properties(name) or not isinstance(value, str) or bool(_CALL_ID.match(value))

    def accepts(self, name: str, params: Params) -> bool:
        """Return whether all of it are parameters of the tool, and none that it needs is missing."""
        return set(self.required(name)) <= set(params) <= {*self.properties(name), "id"}

    def fitted(self, name: str, params: Params) -> Params:
        """Return the parameters in the spelling and with the types of the tool's definition."""
        properties = self.properties(name)
        if not properties:
            return params
        params = self._unwrapped(name, params)
        spellings = {_plain(each): each for each in properties}
        fitted: Params = {}
        for written, value in params.items():
            spelled = spellings.get(_plain(written), written)
            key = written if written in properties or spelled in params else spelled
            fitted[key] = _typed(value, properties.get(key))
        return fitted

    def _unwrapped(self, name: str, params: Params) -> Params:
        """Return the parameters without a wrapper around all of them, or out of one JSON text that holds them all."""
        if len(params) != 1:
            return params
        ((wrapper, inner),) = params.items()
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            try:
                inner = json.loads(inner)
            except ValueError:
                return params
            fits = isinstance(inner, dict) and set(self.required(name)) <= set(inner) <= set(self.properties(name))
            return cast("Params", inner) if fits or (wrapper in _WRAPPERS and isinstance(inner, dict)) else params
        if wrapper in self.properties(name) or not isinstance(inner, dict):
            return params
        fits = bool(inner) and set(self.required(name)) <= set(inner) <= set(self.properties(name))
        return inner if fits or wrapper in _WRAPPERS else params


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub("", name.lower()) or name


def _typed(value: JsonValue, schema: JsonValue) -> JsonValue:
    """Return a text as the list, object, number or truth value that the schema has, a whole number as its text."""
    named = schema.get("type") if isinstance(schema, dict) else None
    wanted = named if isinstance(named, str) else ""
    if wanted == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if wanted == "object" and isinstance(value, dict) and isinstance(schema, dict):
        inner = schema.get("properties")
        return {key: _typed(each, inner.get(key)) for key, each in value.items()} if isinstance(inner, dict) else value
    if not isinstance(value, str) or wanted not in _TYPES:
        return value
    try:
        read = parse(value.lower() if wanted == "boolean" else value).value
    except AnswerUnreadable:
        return value
    fits = isinstance(read, _TYPES[wanted]) and isinstance(read, bool) is (wanted == "boolean")
    return read if fits else value


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
}
