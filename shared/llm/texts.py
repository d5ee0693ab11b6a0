"""The words of a model call as they are kept: what was sent, what was answered, packed and bounded."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import JsonValue

from shared.llm.chat import ChatMessage, ChatRequest, JsonSchema, ProviderAttempt, Tool, ToolUse

Keep = Literal["off", "failed", "all"]

_MAX_CHARACTERS = 1_000_000  #: of the messages of a call; longer ones are cut
_MAX_BYTES = 32_000_000  #: of a text that is unpacked
_CUT = " [cut]"


def is_kept(keep: Keep, attempt: ProviderAttempt) -> bool:
    return attempt.reached and (keep == "all" or (keep == "failed" and attempt.outcome != "ok"))


def packed(attempt: ProviderAttempt) -> bytes:
    """Pack the call's request and reply for ``unpacked``. Images are only counted."""
    request, reply = attempt.request, attempt.reply
    messages, is_cut = _messages(request.messages)
    fields: dict[str, object] = {
        "messages": messages,
        "tools": [_tool(tool) for tool in request.tools],
        "schema": None if request.schema is None else {"name": request.schema.name, "schema": request.schema.schema},
        "max_tokens": request.max_tokens,
        "variables": dict(request.prompt.variables) if request.prompt else {},
        "answer": reply.text[:_MAX_CHARACTERS] if reply else None,
        "reasoning": reply.reasoning[:_MAX_CHARACTERS] if reply else "",
        "tool_calls": [_use(use) for use in reply.tool_calls] if reply else [],
        "cut": is_cut,
    }
    return zlib.compress(_written(fields), 6)


def unpacked(body: bytes) -> dict[str, Any]:
    """Return ``messages``, ``tools``, ``schema``, ``max_tokens``, ``variables``, ``answer``, ``reasoning``,
    ``tool_calls``, and whether something was ``cut``. Raises: ValueError for an invalid body.
    """
    opened = zlib.decompressobj()
    text = opened.decompress(body, _MAX_BYTES)
    if opened.unconsumed_tail:
        raise ValueError("the text of the call is too long")
    fields: dict[str, Any] = json.loads(text)
    return fields


Value = TypeVar("Value", str, dict[str, JsonValue])


def clean(value: Value) -> Value:
    """Return the value without halves of characters, which a model may write and which UTF-8 cannot hold."""
    cleaned: Value = json.loads(_written(value))
    return cleaned


def request_of(fields: dict[str, Any], role: str, messages: Sequence[ChatMessage]) -> ChatRequest:
    """Return the call's request with these messages instead of the recorded ones."""
    schema = fields["schema"] and JsonSchema(fields["schema"]["name"], fields["schema"]["schema"])
    tools = tuple(Tool(tool["name"], tool["description"], tool["parameters"]) for tool in fields["tools"])
    return ChatRequest(role, tuple(messages), tools, schema, max_tokens=fields["max_tokens"])


def messages_of(fields: dict[str, Any]) -> list[ChatMessage]:
    return [
        ChatMessage(
            each["role"],
            each["content"],
            tool_calls=tuple(ToolUse(use["id"], use["name"], use["params"]) for use in each["tool_calls"]),
            tool_call_id=each["tool_call_id"],
        )
        for each in fields["messages"]
    ]


def _written(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=dict, ensure_ascii=False).encode("utf-8", "replace")


def _messages(messages: Sequence[ChatMessage]) -> tuple[list[dict[str, JsonValue]], bool]:
    """Return the newest messages whole and older ones as far as they fit, after the first one, which is the
    system's.
    """
    left = _MAX_CHARACTERS
    kept: dict[int, str] = {}
    for place in [0, *range(len(messages) - 1, 0, -1)][: len(messages)]:
        text = messages[place].content
        kept[place] = text if len(text) <= left else text[:left] + _CUT
        left = max(0, left - len(text))
    shown: list[dict[str, JsonValue]] = [
        {
            "role": message.role,
            "content": kept[place],
            "images": len(message.images),
            "tool_calls": [_use(use) for use in message.tool_calls],
            "tool_call_id": message.tool_call_id,
        }
        for place, message in enumerate(messages)
    ]
    return shown, any(len(kept[place]) != len(message.content) for place, message in enumerate(messages))


def _use(use: ToolUse) -> dict[str, JsonValue]:
    return {"id": use.id, "name": use.name, "params": dict(use.params)}


def _tool(tool: Tool) -> dict[str, JsonValue]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
