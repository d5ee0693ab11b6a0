"""The chat-completions wire format that Groq, Cerebras and every OpenAI-compatible endpoint share."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from shared.llm.call_clock import Watch
from shared.llm.catalog import is_path
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, TokenUsage, Tool, ToolUse
from shared.llm.faults import StreamCut, UnreadableAnswer
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Json
from shared.llm.wires.wire import capped, closed

#: Where servers put what the model thought: DeepSeek, llama.cpp and vLLM; Groq, Ollama and newer vLLM.
_REASONING = ("reasoning_content", "reasoning", "thinking")
_FINISH = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.REFUSAL,
}


@dataclass(frozen=True)
class ChatCompletions:
    """See ``wire.Wire``. Vendors differ in a few details."""

    name: str = "chat_completions"
    usage: Literal["asked", "unasked"] = "asked"  #: whether a stream tells the tokens only on request
    cap: str = "max_completion_tokens"  #: the name for the most tokens of the answer
    cap_elsewhere: str | None = None  #: that name at other base URLs than the vendor's own

    def body(self, request: ChatRequest, endpoint: Endpoint, with_schema: bool) -> dict[str, JsonValue]:
        """The request without ``stream``."""
        parameters, most = capped(request)
        cap = self.cap_elsewhere if self.cap_elsewhere and endpoint.base_url is not None else self.cap
        payload: dict[str, JsonValue] = {
            "model": request.model,
            "messages": [_message(message) for message in request.messages],
            **parameters,
            cap: most,
        }
        if request.tools:
            payload["tools"] = [_tool(tool) for tool in request.tools]
        if request.schema is not None and with_schema:
            schema, strict = closed(request.schema.schema)
            form: dict[str, JsonValue] = {"name": request.schema.name, "schema": schema, "strict": strict}
            payload["response_format"] = {"type": "json_schema", "json_schema": form}
        if endpoint.stream and self.usage == "asked":
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


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class ChatAnswer:
    """An answer while it arrives, whole or in chunks."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    finish: str | None = None
    refusal: bool = False
    model: str | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it says neither why it ends nor that it ends."""
        for chunk in events:
            self.model = _of(chunk, "model") or self.model
            self._count(_of(chunk, "usage") or _of(_of(chunk, "x_groq"), "usage"))
            for choice in (_of(chunk, "choices") or ())[:1]:
                watch.token()
                self._take(_of(choice, "delta"))
                self.finish = _of(choice, "finish_reason") or self.finish
        if self.finish is None and not watch.done:
            raise StreamCut("The answer stopped before its end.")

    def take_whole(self, answer: Json) -> None:
        """Read an answer that came in one piece. Raises: UnreadableAnswer."""
        choices = _of(answer, "choices")
        message = _of(choices[0], "message") if isinstance(choices, list) and choices else None
        if message is None:
            raise UnreadableAnswer("The answer holds no choices: it is not a model's.")
        self.model = _of(answer, "model")
        self._count(_of(answer, "usage"))
        self._take(message)
        self.finish = _of(choices[0], "finish_reason")

    def _take(self, payload: object) -> None:
        content, refusal = _of(payload, "content"), _of(payload, "refusal")
        thought = next((text for name in _REASONING if isinstance(text := _of(payload, name), str) and text), "")
        if thought:
            self.reasoning.append(thought)
        if isinstance(content, str):
            self.text.append(content)
        if isinstance(refusal, str) and refusal:
            self.refusal = True
            self.text.append(refusal)
        for position, part in enumerate(_of(payload, "tool_calls") or ()):
            index, function = _of(part, "index"), _of(part, "function")
            call = self.calls.setdefault(position if index is None else index, _Call())
            call.id = _of(part, "id") or call.id
            call.name = _of(function, "name") or call.name
            call.arguments += _of(function, "arguments") or ""

    def _count(self, usage: object) -> None:
        if usage is not None:
            cached = _of(_of(usage, "prompt_tokens_details"), "cached_tokens")
            self.usage = TokenUsage.told(_of(usage, "prompt_tokens"), _of(usage, "completion_tokens"), cached)

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Raises: UnreadableAnswer for a tool call whose arguments are no JSON object."""
        unsaid = "tool_calls" if self.calls else "stop"
        finish = Finish.REFUSAL if self.refusal else _FINISH.get(self.finish or unsaid, Finish.STOP)
        calls = []
        for number, call in sorted(self.calls.items()):
            params = arguments(call.arguments)
            if params is None:
                if finish is Finish.LENGTH:
                    continue  # cut in the middle: only complete calls count
                raise UnreadableAnswer("The arguments of a tool call are no JSON object.")
            calls.append(ToolUse(call.id or f"call_{number}", call.name, params))
        asked = request.model or ""
        model = self.model if isinstance(self.model, str) and self.model and not is_path(self.model) else asked
        thought = "".join(self.reasoning)
        return ChatReply("".join(self.text), provider, model, finish, tuple(calls), self.usage, reasoning=thought)


def arguments(text: str) -> Mapping[str, JsonValue] | None:
    """A tool call's arguments, or None when they are no strict JSON object."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _of(value: object, name: str) -> Any:
    """A member of what should be an object."""
    return value.get(name) if isinstance(value, dict) else None
