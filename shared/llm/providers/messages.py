"""Asking over Anthropic's messages wire."""

from __future__ import annotations

from typing import Any

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.faults import UnreadableAnswer
from shared.llm.providers.adapter import refuse_web_page
from shared.llm.providers.endpoint import Endpoint
from shared.llm.providers.messages_wire import Collected, body
from shared.llm.watch import Watch, watched


class MessagesWire:
    """The SDK is made when it is first asked."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._sdk: Any = None

    def connect(self) -> None:
        if self._sdk is None:
            self._sdk = _connect(self._endpoint)

    def close(self) -> None:
        if self._sdk is not None:
            self._sdk.close()
            self._sdk = None

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        said = body(request, with_schema)
        fixed = {name: said.pop(name) for name in ("model", "messages", "max_tokens")}
        collected = Collected()
        headers = self._endpoint.headers(request)
        create = self._sdk.messages.create
        if not self._endpoint.stream:
            answer = create(**fixed, extra_body=said, extra_headers=headers)
            refuse_web_page(watch)
            collected.take_whole(answer)
        else:
            with create(**fixed, stream=True, extra_body=said, extra_headers=headers) as events:
                refuse_web_page(watch)
                if "json" in watch.headers.get("content-type", ""):
                    raise UnreadableAnswer("It does not stream its answers.")
                collected.take_events(events, watch)
        return collected.reply(self._endpoint.name, request)


def _connect(endpoint: Endpoint) -> object:
    import anthropic  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    last_resort = endpoint.timeouts.total + 5
    return anthropic.Anthropic(
        api_key=endpoint.api_key or "none",
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=last_resort,
        http_client=watched(httpx2.Client(timeout=last_resort)),
    )
