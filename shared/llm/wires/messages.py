"""Anthropic's messages wire format."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.faults import Part
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.message_answer import MessageAnswer
from shared.llm.wires.wire import capped, closed

#: ``messages.create`` does not take these; a chain that was written for another vendor may still carry them.
_FOREIGN = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "presence_penalty",
        "frequency_penalty",
    }
)
_MARK: Mapping[str, JsonValue] = {"cache_control": {"type": "ephemeral"}}
#: Efforts that other vendors know, in this one's words.
_EFFORTS = {"none": "low", "minimal": "low", "xhigh": "max"}


@dataclass(frozen=True)
class Messages:
    """See ``wire.Wire``."""

    name: str = "messages"

    def body(self, request: ChatRequest, endpoint: Endpoint, without: Collection[Part]) -> dict[str, JsonValue]:
        """See ``Wire``."""
        given, most = capped(request)
        effort = given.pop("reasoning_effort", None)
        payload: dict[str, JsonValue] = {name: value for name, value in given.items() if name not in _FOREIGN}
        payload["max_tokens"] = most
        if isinstance(effort, str):
            payload["output_config"] = {"effort": _EFFORTS.get(effort, effort), **_object(payload.get("output_config"))}
        payload["model"] = request.model
        messages = [_message(message) for message in request.messages if message.role != "system"]
        payload["messages"] = [*(_marked(messages) if request.grows else messages)]
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        if system:
            # The system text is the same in every turn of a job, so it is worth caching.
            payload["system"] = [{"type": "text", "text": system, **_MARK}]
        if request.tools:
            payload["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
                for tool in request.tools
            ]
        if request.schema is not None and "schema" not in without:
            schema, _ = closed(request.schema.schema)
            form: dict[str, JsonValue] = {"type": "json_schema", "schema": schema}
            payload["output_config"] = {**_object(payload.get("output_config")), "format": form}
        return payload

    def foreign(self, parameters: Mapping[str, JsonValue]) -> frozenset[str]:
        return _FOREIGN & parameters.keys()

    def answer(self) -> MessageAnswer:
        return MessageAnswer()


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _marked(messages: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Mark the last part, so that the next turn's prompt, which begins like this one, is read from the cache."""
    *before, last = messages
    content = last["content"]
    parts: list[JsonValue] = [{"type": "text", "text": content}] if isinstance(content, str) else [*_list(content)]
    if not parts or not isinstance(parts[-1], dict) or parts[-1].get("text") == "":
        return messages
    parts[-1] = {**parts[-1], **_MARK}
    return [*before, {**last, "content": parts}]


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _message(message: ChatMessage) -> dict[str, JsonValue]:
    if message.role == "tool":
        result: JsonValue = {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id,
            "content": message.content,
        }
        return {"role": "user", "content": [result]}
    if not message.images and not message.tool_calls:
        return {"role": message.role, "content": message.content}
    parts: list[JsonValue] = [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": image.media_type,
                "data": base64.b64encode(image.data).decode(),
            },
        }
        for image in message.images
    ]
    if message.content:
        parts.append({"type": "text", "text": message.content})
    parts += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.params)}
        for call in message.tool_calls
    ]
    return {"role": message.role, "content": parts}
