"""Asking over Anthropic's messages wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.providers.endpoint import Endpoint
from shared.llm.providers.messages_wire import Collected, body
from shared.llm.providers.sdk import LazySdk, Sdk
from shared.llm.watch import Watch


class MessagesWire:
    """See ``adapter.Wire``."""

    def __init__(self, endpoint: Endpoint, load: Callable[[Endpoint], Sdk]) -> None:
        self._endpoint = endpoint
        self.sdk = LazySdk(lambda: load(endpoint))

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        said = body(request, with_schema)
        headers, collected, sdk = self._endpoint.headers(request), Collected(), self.sdk.get()
        if not self._endpoint.stream:
            collected.take_whole(sdk.whole(said, headers, watch))
        else:
            with sdk.events(said, headers, watch) as answer:
                if isinstance(answer, Mapping):
                    collected.take_whole(answer)
                else:
                    collected.take_events(answer, watch)
        return collected.reply(self._endpoint.name, request)
