"""Asking over the chat-completions wire, whichever SDK carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.providers.chat_completions import Collected, body
from shared.llm.providers.endpoint import Endpoint
from shared.llm.providers.sdk import LazySdk, Sdk
from shared.llm.watch import Watch


class ChatWire:
    """See ``adapter.Wire``."""

    def __init__(
        self,
        endpoint: Endpoint,
        load: Callable[[Endpoint], Sdk],
        cap: str = "max_completion_tokens",
        stream_options: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self.sdk = LazySdk(lambda: load(endpoint))
        self._cap = cap
        self._stream_options = stream_options

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        said = body(request, self._cap, with_schema)
        headers, collected, sdk = self._endpoint.headers(request), Collected(), self.sdk.get()
        if not self._endpoint.stream:
            collected.take_whole(sdk.whole(said, headers, watch))
        else:
            if self._stream_options is not None:
                said["stream_options"] = dict(self._stream_options)
            with sdk.events(said, headers, watch) as answer:
                if isinstance(answer, Mapping):
                    collected.take_whole(answer)
                else:
                    collected.take_chunks(answer, watch)
        return collected.reply(self._endpoint.name, request)
