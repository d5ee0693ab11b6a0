"""The chat-completions wire format that Groq, Cerebras and every OpenAI-compatible endpoint share."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from shared.llm.chat import ChatMessage, ChatRequest, Tool
from shared.llm.faults import Part
from shared.llm.wires.chat_answer import ChatAnswer
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.wire import capped, closed


@dataclass(frozen=True)
class ChatCompletions:
    """See ``wire.Wire``. Vendors differ in a few details."""

    name: str = "chat_completions"
    usage: Literal["asked", "unasked"] = "asked"  #: whether a stream reports tokens only on request
    cap: str = "max_completion_tokens"  #: the name for the most tokens of the answer
    cap_elsewhere: str | None = None  #: that name at other base URLs than the vendor's own

    def body(self, request: ChatRequest, endpoint: Endpoint, without: Collection[Part]) -> dict[str, JsonValue]:
        """See ``Wire``."""
        parameters, most = capped(request)
        cap = self.cap_elsewhere if self.cap_elsewhere and endpoint.base_url is not None else self.cap
        if "cap" in without:
            cap = "max_tokens" if cap == "max_completion_tokens" else "max_completion_tokens"
        payload: dict[str, JsonValue] = {
            "model": request.model,
            "messages": [_message(message) for message in request.messages],
            **parameters,
            cap: most,
        }
        if request.tools:
            payload["tools"] = [_tool(tool) for tool in request.tools]
        if request.schema is not None and "schema" not in without:
            schema, strict = closed(request.schema.schema)
            form: dict[str, JsonValue] = {"name": request.schema.name, "schema": schema, "strict": strict}
            payload["response_format"] = {"type": "json_schema", "json_schema": form}
        if endpoint.stream and self.usage == "asked" and "usage" not in without:
            payload["stream_options"] = {"include_usage": True}
        return payload

    def foreign(self, parameters: Mapping[str, JsonValue]) -> frozenset[str]:
        return frozenset()

    def answer(self) -> ChatAnswer:
        return ChatAnswer()


def _tool(tool: Tool) -> dict[str, JsonValue]:
    function: JsonValue = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _message(message: ChatMessage) -> dict[str, JsonValue]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    payload: dict[str, JsonValue] = {"role": message.role, "content": message.content}
    if message.images:
        parts: list[JsonValue] = [{"type": "text", "text": message.content}]
        for image in message.images:
            data = base64.b64encode(image.data).decode()
            parts.append({"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}})
        payload["content"] = parts
    if message.tool_calls:
        payload["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.params))},
            }
            for call in message.tool_calls
        ]
    return payload
