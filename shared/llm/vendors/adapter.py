"""One call of one vendor: its SDK and wire, within the limits of a watch, with its faults as ours."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from shared.llm.catalog import sees_images
from shared.llm.chat import ChatReply, ChatRequest, Finish
from shared.llm.faults import EmptyAnswer, SchemaUnsupported, ToolUseFailed
from shared.llm.salvage import salvaged
from shared.llm.vendors.spec import VendorSpec
from shared.llm.watch import Watch, watching
from shared.llm.wires.endpoint import SCRIPTED_HEADER, Endpoint
from shared.llm.wires.failures import fault_of
from shared.llm.wires.sdk import LazySdk


class Adapter:
    """Asks its endpoint once and translates; every decision is the failover's. Safe to use from many threads."""

    def __init__(self, vendor: VendorSpec, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._vendor = vendor
        self._sdk = LazySdk(lambda: vendor.sdk(endpoint))
        self._schemaless: set[str] = set()  #: models that refused an answer schema

    def connect(self) -> None:
        """Load the vendor's SDK now, which takes most of a second, instead of with the first request."""
        self._sdk.get()

    def close(self) -> None:
        self._sdk.close()

    def ask(self, request: ChatRequest, watch: Watch) -> ChatReply:
        """Ask once. Raises: ProviderFault; JobCancelled when the watch says so."""
        model = request.model or ""
        if not sees_images(model):
            request = replace(request, messages=tuple(replace(one, images=()) for one in request.messages))
        with watching(watch):
            try:
                self._sdk.get()
                watch.start()
                reply = self._answer(request, watch, with_schema=model not in self._schemaless)
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

    def _answer(self, request: ChatRequest, watch: Watch, with_schema: bool) -> ChatReply:
        """Raises: whatever the SDK does; ProviderFault."""
        sdk, path, wire, endpoint = self._sdk.get(), self._vendor.path, self._vendor.wire, self.endpoint
        body, headers, answer = wire.body(request, endpoint, with_schema), endpoint.headers(request), wire.answer()
        if not endpoint.stream:
            answer.take_whole(sdk.whole(path, body, headers, watch))
        else:
            with sdk.events(path, body, headers, watch) as arriving:
                if isinstance(arriving, Mapping):  # it cannot stream
                    answer.take_whole(arriving)
                else:
                    answer.take_events(arriving, watch)
        return answer.reply(endpoint.name, request)
