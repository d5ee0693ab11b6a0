"""A vendor's SDK, used for addresses, headers, and the errors behind a status.

Answers are read as plain JSON. The SDKs' typed objects cost as much as the rest of the call, one of them takes chunks
without all optional members for something else, and two close the connection after every stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from threading import Lock
from typing import Any, Literal

from pydantic import JsonValue

from shared.llm.call_clock import Watch
from shared.llm.faults import StreamCut, UnreadableAnswer
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.error_body import of_exception
from shared.llm.wires.failures import of_event
from shared.llm.wires.shapes import Json, parsed
from shared.llm.wires.sse import SseDecoder, SseEvent
from shared.llm.wires.transport import watched_client

_BLANK = b"\xef\xbb\xbf \t\r\n"
_FIELD = re.compile(rb"(?:data|event|id|retry)?[ ]*:")


@dataclass(frozen=True)
class Sdk:
    client: Any
    stream: Any  #: the SDK's class of event streams

    @contextmanager
    def answer(
        self, path: str, body: Mapping[str, JsonValue], headers: Mapping[str, str], watch: Watch
    ) -> Iterator[Json | Iterator[Json]]:
        """Send the request; yield the answer in one piece or the events of its stream, whichever the server sends.

        ``path`` is under the client's base URL. What came is judged by its first bytes: servers that cannot stream
        answer in one piece, some always stream, and headers name the wrong type.
        """
        stream = self.client.post(
            path, cast_to=object, body=body, options={"headers": headers}, stream=True, stream_cls=self.stream
        )
        with closing(stream.response) as response:
            yield received(response.iter_bytes(), watch)

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
        """Return the SDK, loaded on first use. Raises: RuntimeError once it is closed."""
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


def received(chunks: Iterator[bytes], watch: Watch) -> Json | Iterator[Json]:
    """Return the answer in one piece, or its events. Raises: ProviderFault."""
    begun = _beginning(chunks)
    kind = watch.headers.get("content-type", "").lower()
    if "html" in kind or begun.startswith(b"<"):
        raise UnreadableAnswer("It answered with a web page: a proxy, or the address is wrong.")
    if begun.startswith((b"{", b"[")) or ("json" in kind and _FIELD.match(begun) is None):
        return _answered(parsed(begun + b"".join(chunks)))
    return _events(chain([begun], chunks), watch)


def _beginning(chunks: Iterator[bytes]) -> bytes:
    """Return the first chunks up to one that says something, without blanks and the byte order mark."""
    begun = b""
    for chunk in chunks:
        begun = (begun + chunk).lstrip(_BLANK)
        if len(begun) >= len(b"retry:") or b"\n" in begun:
            break
    return begun


def _events(chunks: Iterable[bytes], watch: Watch) -> Iterator[Json]:
    """Yield the JSON of server-sent events up to their end. Raises: ProviderFault for an error among them."""
    decoder = SseDecoder()
    for chunk in chunks:
        for event in decoder.feed(chunk):
            if event.data.lstrip().startswith("[DONE]"):
                watch.done = True
                _drain(chunks, watch)
                return
            watch.done = watch.done or event.data.endswith("\n[DONE]")
            for value in _checked(event):
                yield value
                if value.get("type") == "message_stop":
                    _drain(chunks, watch)
                    return
    yield from _last(decoder, watch)


def _last(decoder: SseDecoder, watch: Watch) -> Iterator[Json]:
    """Yield the event whose blank line is missing. Raises: ProviderFault, also for an error outside of the events."""
    event = decoder.end()
    if event is not None and event.data.lstrip().startswith("[DONE]"):
        watch.done = True
    elif event is not None:
        watch.done = watch.done or event.data.endswith("\n[DONE]")
        try:
            yield from _checked(event)
        except UnreadableAnswer:
            raise StreamCut("The answer stopped in the middle of an event.") from None
    if decoder.stray:
        with suppress(UnreadableAnswer):
            value = _object(parsed(decoder.stray))
            if _is_error(value):
                raise of_event(value)


def _checked(event: SseEvent) -> Iterator[Json]:
    """Yield the event's JSON. Raises: ProviderFault for an error, and for what is not a JSON object."""
    if event.name == "error" and not event.data.lstrip().startswith(("{", "[")):
        raise of_event({"message": event.data})
    for value in _values(event.data):
        if event.name == "error" or _is_error(value):
            raise of_event(value)
        yield value


def _values(data: str) -> list[Json]:
    """Return the JSON of an event: one object, but where a proxy drops the blank lines between events."""
    try:
        return [_object(parsed(data))]
    except UnreadableAnswer:
        lines = [line for line in data.split("\n") if not line.startswith("[DONE]")]
        if not lines or lines == [data]:
            raise
        return [_object(parsed(line)) for line in lines]


def _is_error(value: Json) -> bool:
    if value.get("error") or value.get("object") == "error":
        return True
    if "choices" in value:
        return False
    bare = "code" in value or "status_code" in value or "detail" in value
    return (bare and isinstance(value.get("message") or value.get("detail"), str | list)) or (
        of_exception(value) is not None
    )


def _drain(chunks: Iterable[bytes], watch: Watch) -> None:
    """Read the little that is left, so that the connection can be kept; a server that does not end is cut off."""
    watch.hurry(0.05)
    with suppress(Exception):
        for _ in chunks:
            pass


def _object(value: Any) -> Json:
    """Return the value, or what a list has as its only item, as an object. Raises: ProviderFault."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if value[0].get("error"):
            raise of_event(value[0])
        if len(value) == 1:
            return value[0]
    if not isinstance(value, dict):
        raise UnreadableAnswer("A part of its answer is not a JSON object.")
    return value


def _answered(value: Any) -> Json:
    """Return the answer. Raises: ProviderFault for an error that comes with status 200."""
    answer = _object(value)
    if _is_error(answer) and not (answer.get("choices") or answer.get("content")):
        raise of_event(answer)
    return answer
