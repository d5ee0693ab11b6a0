"""Tiny calls that show what a model takes: answer schemas, tools, images, a system's words, usage in a stream."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from dataclasses import replace

from shared.llm.call_clock import Watch
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, ImagePart, JsonSchema, Tool
from shared.llm.faults import (
    EmptyAnswer,
    ImagesUnsupported,
    RequestRefused,
    SchemaUnsupported,
    ServerError,
    StaleConnection,
)
from shared.llm.vendors.adapter import Adapter

_ROLE = "endpoints.test"
_SYSTEM, _WORD = ChatMessage("system", "Be brief."), ChatMessage("user", "Answer with the single word: ready")
_SCHEMA = JsonSchema("probe", {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
_TOOL = Tool("ready", "Say that you are ready.", {"type": "object", "properties": {}})
#: One transparent pixel.
_PIXEL = ImagePart(
    "image/png",
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    ),
)
_REFUSED = (SchemaUnsupported, ImagesUnsupported, RequestRefused, ServerError)


def probe(adapter: Adapter, model: str) -> dict[str, bool]:
    """Return which request parts the model accepts. Raises: ProviderFault when it does not answer a plain message."""
    plain = ChatRequest(_ROLE, (_WORD,), max_tokens=16, provider=adapter.endpoint.name, model=model)
    reply = _asked(adapter, plain)
    return {"stream_usage": reply is not None and reply.usage.output is not None, **dict(_taken(adapter, plain))}


def _taken(adapter: Adapter, plain: ChatRequest) -> Iterator[tuple[str, bool]]:
    each = {
        "system": replace(plain, messages=(_SYSTEM, _WORD)),
        "schema": replace(plain, schema=_SCHEMA),
        "tools": replace(plain, tools=(_TOOL,)),
        "images": replace(plain, messages=(replace(_WORD, images=(_PIXEL,)),)),
    }
    for name, request in each.items():
        try:
            reply = _asked(adapter, request)
        except _REFUSED:
            yield name, False
        else:
            yield name, name != "images" or reply is None or not reply.unseen


def _asked(adapter: Adapter, request: ChatRequest) -> ChatReply | None:
    """Return the reply; None for an empty one, which so few tokens may give. Raises: ProviderFault."""
    limits = adapter.endpoint.limits

    def ask() -> ChatReply:
        return adapter.ask(request, Watch(limits, time.monotonic() + limits.total))

    try:
        return ask()
    except StaleConnection:
        return ask()
    except EmptyAnswer:
        return None
