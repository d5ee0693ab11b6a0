"""Asking over the chat-completions wire, whichever SDK carries it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.providers.adapter import refuse_web_page
from shared.llm.providers.chat_completions import Collected, body
from shared.llm.providers.endpoint import Endpoint
from shared.llm.watch import Watch


class ChatWire:
    """The SDK is made when it is first asked."""

    def __init__(
        self,
        endpoint: Endpoint,
        connect: Callable[[Endpoint], Any],
        cap: str = "max_completion_tokens",
        stream_options: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._connect = connect
        self._cap = cap
        self._stream_options = stream_options
        self._sdk: Any = None

    def connect(self) -> None:
        if self._sdk is None:
            self._sdk = self._connect(self._endpoint)

    def close(self) -> None:
        if self._sdk is not None:
            self._sdk.close()
            self._sdk = None

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        said = body(request, self._cap, with_schema)
        # Parameters are the operator's and may be newer than the SDK, so they go around its signature.
        fixed = {"model": said.pop("model"), "messages": said.pop("messages")}
        collected = Collected()
        headers = self._endpoint.headers(request)
        create = self._sdk.chat.completions.create
        if not self._endpoint.stream:
            answer = create(**fixed, extra_body=said, extra_headers=headers)
            refuse_web_page(watch)
            collected.take_whole(answer)
        else:
            if self._stream_options is not None:
                said["stream_options"] = dict(self._stream_options)
            with create(**fixed, stream=True, extra_body=said, extra_headers=headers) as chunks:
                refuse_web_page(watch)
                if "json" in watch.headers.get("content-type", ""):  # not every endpoint can stream
                    collected.take_whole(json.loads(chunks.response.read()))
                else:
                    collected.take_chunks(chunks, watch)
        return collected.reply(self._endpoint.name, request)
