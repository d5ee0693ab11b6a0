"""A vendor's SDK, used for what it knows: addresses, headers, errors and event streams.

Answers are asked for as plain JSON. The SDKs' typed objects cost as much as the rest of the call, and one of them takes
chunks without all optional members for something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from shared.llm.faults import UnreadableAnswer
from shared.llm.watch import Watch

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Sdk:
    client: Any
    path: str  #: under the client's base URL
    stream: Any  #: the SDK's class of event streams

    def whole(self, body: Mapping[str, JsonValue], headers: Mapping[str, str], watch: Watch) -> Json:
        """Ask for an answer in one piece."""
        answer = self.client.post(self.path, cast_to=object, body=body, options={"headers": headers})
        _refuse_web_page(watch)
        return _object(answer)

    @contextmanager
    def events(
        self, body: Mapping[str, JsonValue], headers: Mapping[str, str], watch: Watch
    ) -> Iterator[Json | Iterator[Json]]:
        """Ask for a stream; an endpoint that cannot stream answers in one piece."""
        options = {"headers": headers}
        asked = {**body, "stream": True}
        events = self.client.post(
            self.path, cast_to=object, body=asked, options=options, stream=True, stream_cls=self.stream
        )
        with events:
            _refuse_web_page(watch)
            if "json" in watch.headers.get("content-type", ""):
                events.response.read()
                yield _object(events.response.json())
            else:
                yield (_object(event) for event in events)

    def close(self) -> None:
        self.client.close()


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise UnreadableAnswer("A part of its answer is no JSON object.")
    return value


def _refuse_web_page(watch: Watch) -> None:
    if "html" in watch.headers.get("content-type", ""):
        raise UnreadableAnswer("It answered with a web page: a proxy, or the address is wrong.")
