"""A vendor's SDK, used for addresses, headers, and the errors behind a status.

Answers are read as plain JSON. The SDKs' typed objects cost as much as the rest of the call, one of them takes chunks
without all optional members for something else, and two close the connection after every stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Any, Literal

from pydantic import JsonValue

from shared.llm.call_clock import Watch
from shared.llm.faults import UnreadableAnswer
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.failures import of_event
from shared.llm.wires.transport import watched_client

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Sdk:
    client: Any
    stream: Any  #: the SDK's class of event streams

    def whole(self, path: str, body: Mapping[str, JsonValue], headers: Mapping[str, str], watch: Watch) -> Json:
        """Ask for an answer in one piece; ``path`` is under the client's base URL."""
        answer = self.client.post(path, cast_to=object, body=body, options={"headers": headers})
        _refuse_web_page(watch)
        return _answered(answer)

    @contextmanager
    def events(
        self, path: str, body: Mapping[str, JsonValue], headers: Mapping[str, str], watch: Watch
    ) -> Iterator[Json | Iterator[Json]]:
        """Ask for a stream; an endpoint that cannot stream answers in one piece."""
        asked, options = {**body, "stream": True}, {"headers": headers}
        stream = self.client.post(
            path, cast_to=object, body=asked, options=options, stream=True, stream_cls=self.stream
        )
        with closing(stream.response) as response:
            _refuse_web_page(watch)
            if "json" in watch.headers.get("content-type", ""):
                response.read()
                yield _answered(response.json())
            else:
                yield _events(response.iter_lines(), watch)

    def close(self) -> None:
        self.client.close()


@dataclass(frozen=True)
class SdkClient:
    """The client of a vendor's SDK, imported when it is made, which takes most of a second."""

    module: str
    name: str
    http: Literal["httpx", "httpx2"]  #: the HTTP client that it takes
    options: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, endpoint: Endpoint) -> Sdk:
        module = import_module(self.module)
        core = import_module("httpcore" if self.http == "httpx" else "httpcore2")
        client = getattr(module, self.name)(
            http_client=watched_client(import_module(self.http), core, endpoint),
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            max_retries=0,  # every retry is the failover's
            timeout=endpoint.last_resort,
            **self.options,
        )
        return Sdk(client, module.Stream[object])


class LazySdk:
    """An SDK that is loaded when it is first needed, by whichever thread comes first."""

    def __init__(self, load: Callable[[], Sdk]) -> None:
        self._load = load
        self._sdk: Sdk | None = None
        self._closed = False
        self._lock = Lock()

    def get(self) -> Sdk:
        """Raises: RuntimeError once it is closed."""
        if self._sdk is not None:
            return self._sdk
        with self._lock:
            if self._closed:
                raise RuntimeError("the provider is closed")
            if self._sdk is None:
                self._sdk = self._load()
            return self._sdk

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._sdk is not None:
                self._sdk.close()
                self._sdk = None


def _events(lines: Iterable[str], watch: Watch) -> Iterator[Json]:
    """The data of server-sent events up to their end. Raises: ProviderFault for an error among them."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text, data = "\n".join(data), []
            if text.startswith("[DONE]"):
                watch.done = True
                break
            event = _object(json.loads(text))
            if event.get("error") or event.get("object") == "error":
                raise of_event(event)
            yield event
            if event.get("type") == "message_stop":
                break
    _drain(lines, watch)


def _drain(lines: Iterable[str], watch: Watch) -> None:
    """Read the little that is left, so that the connection can be kept; a server that does not end is cut off."""
    watch.hurry(0.05)
    with suppress(Exception):
        for _ in lines:
            pass


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise UnreadableAnswer("A part of its answer is no JSON object.")
    return value


def _answered(value: Any) -> Json:
    """Raises: ProviderFault for an error that comes with status 200."""
    answer = _object(value)
    if answer.get("error") and not (answer.get("choices") or answer.get("content")):
        raise of_event(answer)
    return answer


def _refuse_web_page(watch: Watch) -> None:
    if "html" in watch.headers.get("content-type", ""):
        raise UnreadableAnswer("It answered with a web page: a proxy, or the address is wrong.")
