"""Anthropic's messages wire format."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.llm.call_clock import Watch
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, TokenUsage, ToolUse
from shared.llm.faults import StreamCut, UnreadableAnswer
from shared.llm.wires.chat_completions import arguments
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Json
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

_FINISH = {
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}


@dataclass(frozen=True)
class Messages:
    """See ``wire.Wire``."""

    name: str = "messages"

    def body(self, request: ChatRequest, endpoint: Endpoint, with_schema: bool) -> dict[str, JsonValue]:
        """The request without ``stream``."""
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
        if request.schema is not None and with_schema:
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
    """With a mark on the last part: the next turn's prompt, which begins like this one, is read from the cache."""
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


@dataclass
class _Block:
    kind: str
    id: str = ""
    name: str = ""
    text: str = ""
    input: object = None


@dataclass
class MessageAnswer:
    """An answer while it arrives, whole or in events."""

    blocks: dict[int, _Block] = field(default_factory=dict)
    stop: str | None = None
    model: str | None = None
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it stops without a stop reason."""
        ended = False
        for event in events:
            kind, index = event.get("type"), event.get("index", 0)
            if kind != "ping":
                watch.token()
            match kind:
                case "message_start":
                    message = _part(event, "message")
                    self.model = message.get("model")
                    self._count(_part(message, "usage"))
                case "content_block_start":
                    self.blocks[index] = _block(_part(event, "content_block"))
                case "content_block_delta":
                    delta = _part(event, "delta")
                    block = self.blocks.setdefault(index, _Block("text"))
                    block.text += delta.get("text") or delta.get("partial_json") or delta.get("thinking") or ""
                case "message_delta":
                    self.stop = _part(event, "delta").get("stop_reason") or self.stop
                    self._count(_part(event, "usage"))
                case "message_stop":
                    ended = True
        if self.stop is None or not ended:
            raise StreamCut("The answer stopped before its end.")

    def take_whole(self, answer: Json) -> None:
        """Read an answer that came in one piece. Raises: UnreadableAnswer."""
        content = answer.get("content")
        if not isinstance(content, list):
            raise UnreadableAnswer("The answer holds no content: it is not a model's.")
        self.blocks = {number: _block(block) for number, block in enumerate(content) if isinstance(block, dict)}
        self.stop = answer.get("stop_reason")
        self.model = answer.get("model")
        self._count(_part(answer, "usage"))

    def _count(self, usage: Json) -> None:
        read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        self.cached, self.written = _or(read, self.cached), _or(written, self.written)
        if usage.get("input_tokens") is not None:  # cached input is counted apart by this vendor, within by the others
            self.input = usage["input_tokens"] + (read or 0) + (written or 0)
        self.output = _or(usage.get("output_tokens"), self.output)

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Raises: UnreadableAnswer for a tool call whose input is no JSON object."""
        finish = _FINISH.get(self.stop or "", Finish.STOP)
        blocks = [block for _, block in sorted(self.blocks.items())]
        text = "".join(block.text for block in blocks if block.kind == "text")
        thought = "".join(block.text for block in blocks if block.kind == "thinking")
        calls = []
        for block in (block for block in blocks if block.kind == "tool_use"):
            params = arguments(block.text) if block.text else block.input
            if isinstance(params, dict):
                calls.append(ToolUse(block.id, block.name, params))
            elif finish is not Finish.LENGTH:  # cut in the middle: only complete calls count
                raise UnreadableAnswer("The input of a tool call is no JSON object.")
        usage = TokenUsage.told(self.input, self.output, self.cached, self.written)
        model = self.model or request.model or ""
        return ChatReply(text, provider, model, finish, tuple(calls), usage, reasoning=thought)


def _block(block: Json) -> _Block:
    kind = str(block.get("type"))
    text = (block.get(kind) or "") if kind in ("text", "thinking") else ""
    return _Block(kind, block.get("id") or "", block.get("name") or "", text, block.get("input"))


def _part(value: Json, name: str) -> Json:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _or(value: int | None, other: int | None) -> int | None:
    return other if value is None else value
