"""The other side of the vendors' wire formats: answers and errors as a vendor would send them, whole and in pieces."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.llm.scripted.script import ScriptedReply
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.chat_completions import ChatCompletions

_CHAT_FINISH = {
    "unsaid": None,
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "refusal": "stop",
}
_MESSAGES_FINISH = {
    "unsaid": "end_turn",
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "refusal",
}


@dataclass(frozen=True)
class ServedReply:
    """An answer before it has a wire format."""

    provider: str
    model: str
    reply: ScriptedReply
    text: str
    finish: str
    input_tokens: int
    output_tokens: int
    cached: int = 0  #: of the input
    written: int = 0  #: of the input


@dataclass(frozen=True)
class ServedWire:
    """A wire format, as a server speaks it."""

    whole: Callable[[ServedReply], dict[str, Any]]
    pieces: Callable[[ServedReply], list[bytes]]  #: server-sent events; the text in words
    error: Callable[[dict[str, Any], str | None, str | None], dict[str, Any]]  #: around type and message of an error
    error_event: str | None = None  #: the name of an error among the events
    broken: bytes = b'data: {"type": "content_block_delta", "ind\n\n'  #: a piece that is not JSON


def wire_of(provider: str) -> ServedWire:
    return SERVED[VENDORS[provider].wire.name]


def error(provider: str, status: int, code: str | None, message: str, generation: str | None = None) -> dict[str, Any]:
    """Return a vendor's error body."""
    kind = code or {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(
        status, "invalid_request_error" if status < 500 else "api_error"
    )
    return wire_of(provider).error({"type": kind, "message": message}, code, generation)


def error_event(provider: str, status: int, message: str) -> bytes:
    """Return an error that follows the beginning of an answer."""
    return _event(wire_of(provider).error_event, error(provider, status, None, message))


def _chat_error(inner: dict[str, Any], code: str | None, generation: str | None) -> dict[str, Any]:
    written = {} if generation is None else {"failed_generation": generation}
    return {"error": {**inner, **written, "code": code or inner["type"]}}


def _messages_error(inner: dict[str, Any], code: str | None, generation: str | None) -> dict[str, Any]:
    return {"type": "error", "error": inner, "request_id": "req_scripted"}


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text) or ([text] if text else [])


def _completion(served: ServedReply) -> dict[str, Any]:
    said = "refusal" if served.finish == "refusal" else "content"
    message: dict[str, Any] = {"role": "assistant", "content": None, said: served.text or None}
    if served.reply.reasoning:
        message["reasoning_content"] = served.reply.reasoning
    if served.reply.tool_calls:
        message["tool_calls"] = [_chat_call(served, number) for number in range(len(served.reply.tool_calls))]
    answer = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": served.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _CHAT_FINISH[served.finish]}],
    }
    return answer | ({"usage": _usage(served)} if served.reply.usage else {})


def _chat_call(served: ServedReply, number: int) -> dict[str, Any]:
    call = served.reply.tool_calls[number]
    function = {"name": call.name, "arguments": json.dumps(call.params)}
    return {"id": call.id or f"call_{number}", "type": "function", "function": function}


def _usage(served: ServedReply) -> Mapping[str, Any]:
    if isinstance(served.reply.usage, dict):
        return served.reply.usage
    total = served.input_tokens + served.output_tokens
    counts = {"prompt_tokens": served.input_tokens, "completion_tokens": served.output_tokens, "total_tokens": total}
    return {**counts, **({"prompt_tokens_details": {"cached_tokens": served.cached}} if served.cached else {})}


def _chunks(served: ServedReply) -> list[bytes]:
    common = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": served.model,
    }

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(None, {**common, "choices": [choice], **more})

    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"reasoning_content": word}) for word in _words(served.reply.reasoning)]
    said = "refusal" if served.finish == "refusal" else "content"
    out += [chunk({said: word}) for word in _words(served.text)]
    out += [
        chunk({"tool_calls": [{"index": number, **_chat_call(served, number)}]})
        for number in range(len(served.reply.tool_calls))
    ]
    finish = _CHAT_FINISH[served.finish]
    if not served.reply.usage:
        out.append(chunk({}, finish))
    elif _sends_usage_unasked(served.provider):
        out.append(chunk({}, finish, x_groq={"id": "req_scripted", "usage": _usage(served)}))
    else:
        out.append(chunk({}, finish))
        out.append(_event(None, {**common, "choices": [], "usage": _usage(served)}))
    return [*out, b"data: [DONE]\n\n"]


def _sends_usage_unasked(provider: str) -> bool:
    wire = VENDORS[provider].wire
    return isinstance(wire, ChatCompletions) and wire.usage == "unasked"


def _message(served: ServedReply) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": served.text}] if served.text else []
    if served.reply.reasoning:
        content.insert(0, {"type": "thinking", "thinking": served.reply.reasoning, "signature": ""})
    content += [_block(served, number) for number in range(len(served.reply.tool_calls))]
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": served.model,
        "content": content,
        "stop_reason": _MESSAGES_FINISH[served.finish],
        "stop_sequence": None,
        "usage": {**_input_usage(served), "output_tokens": served.output_tokens},
    }


def _input_usage(served: ServedReply) -> dict[str, int]:
    """Return the input usage; tokens read from and written to the cache are counted separately."""
    if not served.cached and not served.written:
        return {"input_tokens": served.input_tokens}
    cache = {"cache_read_input_tokens": served.cached, "cache_creation_input_tokens": served.written}
    return {"input_tokens": max(0, served.input_tokens - served.cached - served.written), **cache}


def _block(served: ServedReply, number: int) -> dict[str, Any]:
    call = served.reply.tool_calls[number]
    return {"type": "tool_use", "id": call.id or f"toolu_{number}", "name": call.name, "input": dict(call.params)}


def _events(served: ServedReply) -> list[bytes]:
    start = _message(served) | {"content": [], "stop_reason": None}
    start["usage"] = {**_input_usage(served), "output_tokens": 1}
    out = [_event("message_start", {"message": start}), _event("ping", {})]
    blocks = _message(served)["content"]
    for index, block in enumerate(blocks):
        empty = {**block, **({"input": {}} if block["type"] == "tool_use" else {block["type"]: ""})}
        out.append(_event("content_block_start", {"index": index, "content_block": empty}))
        if block["type"] != "tool_use":
            kind = block["type"]
            deltas = [{"type": f"{kind}_delta", kind: word} for word in _words(block[kind])]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        out += [_event("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        out.append(_event("content_block_stop", {"index": index}))
    stop = {"stop_reason": _MESSAGES_FINISH[served.finish], "stop_sequence": None}
    out.append(_event("message_delta", {"delta": stop, "usage": {"output_tokens": served.output_tokens}}))
    return [*out, _event("message_stop", {})]


def _event(name: str | None, data: Mapping[str, Any]) -> bytes:
    if name is None:
        return b"data: " + json.dumps(data).encode() + b"\n\n"
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


_CHAT = ServedWire(_completion, _chunks, _chat_error)
_MESSAGES = ServedWire(_message, _events, _messages_error, "error", b"event: content_block_delta\n" + ServedWire.broken)
#: By the name of the wire, of which the vendors' table has the client's side.
SERVED: dict[str, ServedWire] = {"chat_completions": _CHAT, "messages": _MESSAGES}
