"""What every adapter does around its wire format: the watch, the faults, the marks of an answer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from shared.llm.chat import ChatReply, ChatRequest, Finish
from shared.llm.faults import EmptyAnswer, SchemaUnsupported, ToolUseFailed
from shared.llm.providers.endpoint import SCRIPTED_HEADER, Endpoint
from shared.llm.providers.reading import fault_of
from shared.llm.providers.sdk import LazySdk
from shared.llm.salvage import salvaged
from shared.llm.vision import sees
from shared.llm.watch import Watch, watching


class Wire(Protocol):
    """A vendor's SDK behind our request and reply."""

    @property
    def sdk(self) -> LazySdk: ...

    def answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        """Raises: whatever the SDK does; ProviderFault."""
        ...


class Adapter:
    """One provider; safe to use from many threads."""

    def __init__(self, endpoint: Endpoint, wire: Wire) -> None:
        self.endpoint = endpoint
        self._wire = wire
        self._schemaless: set[str] = set()  #: models that refused an answer schema

    def connect(self) -> None:
        """Load the vendor's SDK now, which takes most of a second, instead of with the first request."""
        self._wire.sdk.get()

    def close(self) -> None:
        self._wire.sdk.close()

    def ask(self, request: ChatRequest, watch: Watch) -> ChatReply:
        """Ask once. Raises: ProviderFault; JobCancelled."""
        model = request.model or ""
        if not sees(model):
            request = replace(request, messages=tuple(replace(one, images=()) for one in request.messages))
        with watching(watch):
            try:
                self._wire.sdk.get()
                watch.start()
                reply = self._wire.answer(request, watch, with_schema=model not in self._schemaless)
            except Exception as error:
                fault = fault_of(error, watch)
                if isinstance(fault, SchemaUnsupported):
                    self._schemaless.add(model)
                if not isinstance(fault, ToolUseFailed):
                    raise fault from error
                reply = salvaged(fault, request, self.endpoint.name)
        if not reply.text.strip() and not reply.tool_calls and reply.finish is not Finish.REFUSAL:
            raise EmptyAnswer("It answered without any content.")
        scripted = SCRIPTED_HEADER in watch.headers
        return replace(reply, source="scripted" if scripted else "live", seconds=time.monotonic() - watch.began)
