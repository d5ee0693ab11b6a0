"""Asking over Anthropic's messages wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.providers.endpoint import Endpoint
from shared.llm.providers.messages_wire import Collected, body
from shared.llm.providers.sdk import Sdk
from shared.llm.watch import Watch


class MessagesWire:
    """The SDK is made when it is first needed."""

    def __init__(self, endpoint: Endpoint, connect: Callable[[Endpoint], Sdk]) -> None:
        self._endpoint = endpoint
        self._connect = connect
        self._sdk: Sdk | None = None

    def connect(self) -> Sdk:
        if self._sdk is None:
            self._sdk = self._connect(self._endpoint)
        return self._sdk

    def close(self) -> None:
        if self._sdk is not None:
            self._sdk.close()
            self._sdk = None

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        said = body(request, with_schema)
        headers, collected, sdk = self._endpoint.headers(request), Collected(), self.connect()
        if not self._endpoint.stream:
            collected.take_whole(sdk.whole(said, headers, watch))
        else:
            with sdk.events(said, headers, watch) as answer:
                if isinstance(answer, Mapping):
                    collected.take_whole(answer)
                else:
                    collected.take_events(answer, watch)
        return collected.reply(self._endpoint.name, request)
