"""Calls out of a generation that the provider refused as malformed (``tool_use_failed``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from shared.llm.chat import ChatReply, ChatRequest, Finish, ToolUse
from shared.llm.faults import ToolUseFailed
from shared.llm.json_text import AnswerUnreadable, parse

_PARAMS = ("arguments", "parameters", "params", "input")
#: ``<function=name>{...}</function>`` and its usual variations.
_FUNCTION = re.compile(r"<function[=(]\s*([\w.-]+)\s*[)>]*\s*(\{.*?\})?\s*[)>]*\s*</function>", re.DOTALL)


def salvaged(fault: ToolUseFailed, request: ChatRequest, provider: str) -> ChatReply:
    """The generation as the answer that was meant. Raises: the fault, when nothing can be made of it."""
    text = fault.generation.strip()
    if not text:
        raise fault
    model = request.model or ""
    if not request.tools:  # text was asked for, so text is what this is
        return ChatReply(text, provider, model)
    known = {tool.name for tool in request.tools}
    calls = tuple(_calls(text))
    if not calls or any(call.name not in known for call in calls):
        raise fault
    return ChatReply("", provider, model, Finish.TOOL_CALLS, calls)


def _calls(text: str) -> Iterator[ToolUse]:
    tagged = _FUNCTION.findall(text)
    try:
        items: list[JsonValue] = [{"name": name, "arguments": body or "{}"} for name, body in tagged]
        if not items:
            value = parse(text).value
            items = value if isinstance(value, list) else [value]
    except AnswerUnreadable:
        return
    for number, item in enumerate(items):
        call = _call(item, number)
        if call is None:
            return
        yield call


def _call(item: JsonValue, number: int) -> ToolUse | None:
    if not isinstance(item, dict):
        return None
    function = item.get("function")
    written = function if isinstance(function, dict) else item
    name = written.get("name")
    params = next((written[key] for key in _PARAMS if key in written), {})
    if isinstance(params, str):
        try:
            params = parse(params).value
        except AnswerUnreadable:
            return None
    if not isinstance(name, str) or not isinstance(params, dict):
        return None
    return ToolUse(f"call_{number}", name, params)
