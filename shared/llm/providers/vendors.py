"""The vendors: how each one's SDK is made. An SDK is imported when its provider is first asked."""

from __future__ import annotations

from typing import Any

from shared.llm.providers.adapter import Adapter
from shared.llm.providers.chat_wire import ChatWire
from shared.llm.providers.endpoint import Endpoint
from shared.llm.providers.messages import MessagesWire
from shared.llm.providers.sdk import Sdk
from shared.llm.watch import watched

_WITH_USAGE = {"include_usage": True}


def adapter(endpoint: Endpoint) -> Adapter:
    match endpoint.wire:
        case "groq":
            return Adapter(endpoint, ChatWire(endpoint, _groq))  # it reports usage unasked
        case "cerebras":
            return Adapter(endpoint, ChatWire(endpoint, _cerebras, stream_options=_WITH_USAGE))
        case "anthropic":
            return Adapter(endpoint, MessagesWire(endpoint, _anthropic))
        case "openai":  # OpenAI itself, or whoever speaks its language: Ollama, vLLM, llama.cpp
            cap = "max_completion_tokens" if endpoint.base_url is None else "max_tokens"
            return Adapter(endpoint, ChatWire(endpoint, _openai, cap, _WITH_USAGE))


def _groq(endpoint: Endpoint) -> Sdk:
    import groq  # noqa: PLC0415
    import httpx  # noqa: PLC0415

    client = groq.Groq(http_client=watched(httpx.Client(timeout=_last_resort(endpoint))), **_common(endpoint))
    return Sdk(client, "/openai/v1/chat/completions", groq.Stream[object])


def _cerebras(endpoint: Endpoint) -> Sdk:
    import httpx  # noqa: PLC0415
    from cerebras.cloud.sdk import Cerebras, Stream  # noqa: PLC0415

    http = watched(httpx.Client(timeout=_last_resort(endpoint)))
    # Warming up would send a request from the constructor.
    client = Cerebras(http_client=http, warm_tcp_connection=False, **_common(endpoint))
    return Sdk(client, "/v1/chat/completions", Stream[object])


def _openai(endpoint: Endpoint) -> Sdk:
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    client = openai.OpenAI(http_client=watched(httpx2.Client(timeout=_last_resort(endpoint))), **_common(endpoint))
    return Sdk(client, "/chat/completions", openai.Stream[object])


def _anthropic(endpoint: Endpoint) -> Sdk:
    import anthropic  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    http = watched(httpx2.Client(timeout=_last_resort(endpoint)))
    client = anthropic.Anthropic(http_client=http, **_common(endpoint))
    return Sdk(client, "/v1/messages", anthropic.Stream[object])


def _common(endpoint: Endpoint) -> dict[str, Any]:
    # Every retry is the router's. The SDK's own time-out is only the last resort: the watch stands before it.
    return {
        "api_key": endpoint.api_key or "none",
        "base_url": endpoint.base_url,
        "max_retries": 0,
        "timeout": _last_resort(endpoint),
    }


def _last_resort(endpoint: Endpoint) -> float:
    return endpoint.timeouts.total + 5
