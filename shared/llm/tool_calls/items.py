"""Calls out of JSON: every shape of a call, alone, in lists, in wrappers; ids and parameters as they were meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from shared.llm.chat import ToolUse
from shared.llm.json_text import MAX_DEPTH, AnswerUnreadable, parse
from shared.llm.tool_calls.known import KnownTools, Params
from shared.llm.tool_calls.python import calls_in_code, positional_names

#: Members that hold a call's name; the first one that names a known tool counts, else the first one with a text.
_NAMES = (
    "name", "tool_name", "toolName", "tool", "function_name", "functionName", "function", "recipient_name", "action",
    "method", "command", "operation", "op", "call",
)  # fmt: skip
#: Members that hold a whole call, or a list of calls.
_NESTED = (
    "function", "functionCall", "function_call", "toolCall", "tool_call", "tool_use", "toolUse", "tool", "call",
    "action", "command",
)  # fmt: skip
#: Names of calls that make another call, which their parameters are.
_CALLING = frozenset(
    {"toolscall", "calltool", "toolcall", "usetool", "executetool", "runtool", "invoketool", "usemcptool"}
)
#: Members whose calls are not meant to be run.
_PAST = frozenset({"history", "previous", "executed", "execution", "done", "examples", "failed", "nodes", "edges"})
#: Members that hold the calls of a whole answer.
_LISTS = (
    "tool_calls", "toolCalls", "function_calls", "functionCalls", "tool_uses", "calls", "tools", "functions", "actions",
    "operations", "steps", "commands", "response", "content", "message", "choices", "output", "result", "parts",
)  # fmt: skip
_PARAMS = (
    "input", "params", "parameters", "arguments", "args", "kwargs", "action_input", "tool_input", "toolInput",
    "payload",
)  # fmt: skip
_ENVELOPE = frozenset({
    "type", "index", "role", "thinking", "thought", "reason", "reasoning", "jsonrpc", "status", "explanation",
    "comment", "rationale", "confidence", "why", "step",
})  # fmt: skip
_THOUGHTS = ("thinking", "thought", "reasoning", "thoughts")
#: Members in other spellings, as ``NAME``, ``Input`` and ``fn``.
_SPELLINGS = {key.lower(): key for key in (*_PARAMS, *_NAMES)} | {
    "fn": "function", "func": "function", "cmd": "command",
}  # fmt: skip
_EXPECTED = 'write each call as {"name": "...", "input": {...}}'


@dataclass(frozen=True)
class ReadCalls:
    """The calls of an answer, in order."""

    uses: tuple[ToolUse, ...]
    repaired: bool = False  #: the calls did not have the requested form
    thinking: str = ""
    truncated: bool = False  #: a further call is not complete, and not here


@dataclass(frozen=True)
class _Call:
    name: str
    params: Params
    id: str
    usual: bool


def calls_in_json(value: JsonValue, known: KnownTools) -> ReadCalls:
    """Return the calls of a parsed answer. Raises: AnswerUnreadable when an item is not a call."""
    items, wrapped = _unwrapped(value)
    items = _in_pairs(items, known)
    calls = [call for number, item in enumerate(items, 1) for call in _calls(number, item, known)]
    uses = tuple(ToolUse(call.id or f"call_{n}", call.name, call.params) for n, call in enumerate(calls, 1))
    return ReadCalls(uses, wrapped or not all(call.usual for call in calls), _thinking(value))


def normalized(use: ToolUse, known: KnownTools) -> ToolUse:
    """Return a native call with the name and parameters of the tool that it means."""
    name = known.resolve(use.name)
    return ToolUse(use.id, name, known.fitted(name, dict(use.params)))


def looks_like_calls(value: JsonValue, known: KnownTools) -> bool:
    """Return whether JSON outside of the tags is meant as calls: it names a known tool, or has a call's members."""
    items, wrapped = _unwrapped(value)
    items = _in_pairs(items, known)
    if not items:
        return wrapped or value == []
    return all(_is_call(item, known) for item in items if not _is_words(item))


def _spelled(item: Mapping[str, JsonValue], known: KnownTools) -> Mapping[str, JsonValue]:
    """Return the members of a call under their usual names, unless they are the parameters of a tool."""
    if any(key in item for key in _NAMES) or any(key in known for key in item):
        return item
    return {_SPELLINGS.get(key.lower(), key): value for key, value in item.items()}


def _is_words(item: object) -> bool:
    """Return whether the item is a block of words among the calls."""
    if isinstance(item, dict) and item.keys() == {"text"}:
        return True
    return isinstance(item, dict) and item.get("type") in ("text", "thinking") and not any(k in item for k in _PARAMS)


def _is_call(item: JsonValue, known: KnownTools) -> bool:
    if isinstance(item, str):
        return "(" in item and item.partition("(")[0] in known
    if not isinstance(item, dict):
        return False
    item = {**_spelled(item, known)}
    if any(isinstance(item.get(key), (dict, list)) for key in _NESTED) or item.get("type") in ("tool_use", "function"):
        return True
    texts = (text for key in (*_NAMES, "type") if isinstance(text := item.get(key), str))
    named = any(text.partition("(")[0] in known for text in texts)
    explicit = any(isinstance(item.get(key), str) for key in _NAMES) and any(key in item for key in _PARAMS)
    return named or explicit or any(key in known for key in item) or _parts_with_calls(item, known) != []


def _unwrapped(value: JsonValue) -> tuple[Sequence[JsonValue], bool]:
    """Return the items of an answer, out of the wrappers and inner lists around them."""
    wrapped = False
    for _ in range(MAX_DEPTH):
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            value, wrapped = parse(value).value, True
        elif isinstance(value, dict) and not any(
            isinstance(value.get(key), str) for key in ("name", "tool", "tool_name")
        ):
            lists = [key for key in _LISTS if isinstance(value.get(key), (list, dict, str))]
            if not lists or (
                isinstance(value[lists[0]], str) and not str(value[lists[0]]).lstrip().startswith(("[", "{"))
            ):
                break
            value, wrapped = value[lists[0]], True
            if isinstance(value, str):
                value = parse(value).value
        elif isinstance(value, list) and any(isinstance(item, list) for item in value):
            value = [inner for item in value for inner in (item if isinstance(item, list) else [item])]
            wrapped = True
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _is_wrapper(value[0]):
            value, wrapped = value[0], True
        else:
            break
    return (value if isinstance(value, list) else [value]), wrapped


def _in_pairs(items: Sequence[JsonValue], known: KnownTools) -> Sequence[JsonValue]:
    """Return the items with each ``"addNode", {...}`` as one."""
    paired: list[JsonValue] = []
    for item in items:
        before = paired[-1] if paired else None
        if isinstance(item, dict) and isinstance(before, str) and before in known:
            paired[-1] = {"name": before, "input": item}
        else:
            paired.append(item)
    return paired


def _parts_with_calls(item: Mapping[str, JsonValue], known: KnownTools) -> list[JsonValue]:
    """Return the members that hold the calls of an object which is not a call: one, or several that are numbered."""
    if not known:
        return []
    parts = {key: value for key, value in item.items() if key not in _PAST and _names_a_tool(value, known)}
    return list(parts.values()) if len(parts) == 1 or all(key.isdecimal() for key in parts) else []


def _names_a_tool(value: JsonValue, known: KnownTools) -> bool:
    if isinstance(value, list):
        return any(_names_a_tool(each, known) for each in value)
    if not isinstance(value, dict):
        return False
    named = any(isinstance(name := value.get(key), str) and name in known for key in _NAMES)
    return named or any(_names_a_tool(each, known) for key, each in value.items() if key not in _PAST)


def _is_wrapper(item: Mapping[str, JsonValue]) -> bool:
    return not any(key in item for key in _NAMES) and any(isinstance(item.get(key), (list, dict)) for key in _LISTS)


def _thinking(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return ""
    return next((text.strip() for key in _THOUGHTS if isinstance(text := value.get(key), str)), "")


def _calls(number: int, item: JsonValue, known: KnownTools) -> Iterator[_Call]:
    """Yield the calls of one item. Raises: AnswerUnreadable."""
    if isinstance(item, dict):
        yield from _of_object(number, _spelled(item, known), known)
        return
    code = calls_in_code(item, known) if isinstance(item, str) else None
    if code is None:
        raise AnswerUnreadable(f"item {number} is not a tool call: {_EXPECTED}")
    for name, params in code:
        yield _Call(name, params, "", usual=False)


def _of_object(number: int, item: Mapping[str, JsonValue], known: KnownTools) -> Iterator[_Call]:
    """Yield the calls of one object. Raises: AnswerUnreadable."""
    if _is_words(item):
        return
    nested = next((inner for key in _NESTED if isinstance(inner := item.get(key), (dict, list))), None)
    if nested is not None:
        for each in nested if isinstance(nested, list) else [nested]:
            whole = {**each, "id": each.get("id", item.get("id"))} if isinstance(each, dict) else each
            for call in _calls(number, whole, known):
                yield _Call(call.name, call.params, call.id, usual=False)
        return
    if (name_key := _name_key(item, known)) is None:
        yield from _by_tool(number, item, known)
        return
    name = str(item[name_key])
    if "=" in name and (code := calls_in_code(name, known)):
        for called, params in code:
            yield _Call(called, params, "", usual=False)
    elif (called_inside := _called_inside(name, item, known)) is not None:
        for each in called_inside:
            yield from _calls(number, each, known)
    else:
        yield _call(number, item, name_key, known)


def _called_inside(name: str, item: Mapping[str, JsonValue], known: KnownTools) -> Sequence[JsonValue] | None:
    """Return the calls that ``{"method": "tools/call", "params": {...}}`` makes, None when it is a call itself."""
    if name.strip().startswith("multi_tool_use"):
        return _unwrapped(next((item[key] for key in _PARAMS if key in item), None))[0]
    plain = "".join(filter(str.isalnum, name.lower()))
    inner = next((item[key] for key in _PARAMS if isinstance(item.get(key), dict)), None)
    return [inner] if name not in known and plain in _CALLING and inner and _is_call(inner, known) else None


def _name_key(item: Mapping[str, JsonValue], known: KnownTools) -> str | None:
    """Return the member that names the tool."""
    named = [key for key in _NAMES if isinstance(name := item.get(key), str) and name.strip()]
    of_known = [key for key in (*named, "type") if isinstance(name := item.get(key), str) and name in known]
    return next(iter(of_known or named), None)


def _by_tool(number: int, item: Mapping[str, JsonValue], known: KnownTools) -> Iterator[_Call]:
    """Yield the calls of ``{"addNode": {...}, "addEdge": [{...}]}``. Raises: AnswerUnreadable."""
    tools = [key for key in item if key in known]
    if not tools and (parts := _parts_with_calls(item, known)):
        for part in parts:
            for each in _in_pairs(_unwrapped(part)[0], known):
                yield from _calls(number, each, known)
        return
    if not tools or any(key not in _ENVELOPE | {"id"} for key in item if key not in tools):
        raise AnswerUnreadable(f"item {number} has no tool name: {_EXPECTED}")
    for key in tools:
        inner = item[key]
        for params in inner if isinstance(inner, list) else [inner]:
            name = known.resolve(key)
            yield _Call(name, known.fitted(name, _object(number, params, name, known)), "", usual=False)


def _call(number: int, item: Mapping[str, JsonValue], name_key: str, known: KnownTools) -> _Call:
    written = str(item[name_key])
    name = known.resolve(written)
    given = item.get("id")
    key = next((key for key in _PARAMS if item.get(key) is not None), None)
    params = {} if key is None else _object(number, item[key], name, known)
    own_id = known.is_call_id(name, given)
    if not params:  # the parameters may be next to the name
        skipped = {*_ENVELOPE, *_PARAMS, name_key, "tool_call_id", "call_id", *(("id",) if own_id else ())}
        params = {each: value for each, value in item.items() if each not in skipped}
    fitted = known.fitted(name, params)
    usual = (
        name_key == "name"
        and key in ("input", "params", None)
        and fitted == params == item.get(key or "", {})
        and name == written
    )
    taken = (
        isinstance(given, (str, int)) and not isinstance(given, bool) and given != "" and (own_id or key is not None)
    )
    return _Call(name, fitted, str(given) if taken else "", usual)


def _object(number: int, value: JsonValue, name: str, known: KnownTools) -> Params:
    """Return the parameters as an object: out of a JSON text, of name and value pairs. Raises: AnswerUnreadable."""
    for _ in range(3):
        if not isinstance(value, str):
            break
        if not value.strip():
            return {}
        code = calls_in_code(f"{name}({value})", known) if "=" in value and "{" not in value else None
        value = dict(code[0][1]) if code else _parsed(number, value)
    if isinstance(value, list):
        value = _of_list(value, name, known)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AnswerUnreadable(f"the input of item {number} is no object: {_EXPECTED}")
    return value


def _of_list(values: list[JsonValue], name: str, known: KnownTools) -> JsonValue:
    """Return a list of parameters as an object: its only item, pairs of name and value, or values in order.

    Raises: AnswerUnreadable.
    """
    if not any(isinstance(each, dict) for each in values):
        return dict(zip(positional_names(name, len(values), known), values, strict=True))
    if len(values) == 1 and isinstance(values[0], dict) and "value" not in values[0]:
        return values[0]
    pairs = [(each.get("name", each.get("key")), each.get("value")) for each in values if isinstance(each, dict)]
    named = len(pairs) == len(values) and all(isinstance(key, str) for key, _ in pairs)
    return {str(key): inner for key, inner in pairs} if named else values


def _parsed(number: int, text: str) -> JsonValue:
    try:
        return parse(text).value
    except AnswerUnreadable:
        raise AnswerUnreadable(f"the input of item {number} is no object: {_EXPECTED}") from None
