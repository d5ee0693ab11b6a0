"""The clock of one call: every wait on the provider's socket ends at the call's own limits, or when it is cancelled.

The SDKs' time-outs count from byte to byte, so a server that sends a comment each second could hold a worker for
ever. The limits here stand below the SDKs, at the socket, where nothing can hang beyond them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 64 * 1024 * 1024
SLICE = 0.2  #: how long a read waits before it looks at the clock and at the cancellation


@dataclass(frozen=True)
class Timeouts:
    """Seconds; the job's own deadline cuts all of them."""

    connect: float = 3.0
    first_token: float = 30.0
    idle: float = 15.0
    total: float = 120.0


class Expired(Exception):
    """A limit of the call was reached; ``stage`` is the one."""

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


@dataclass
class Watch:
    """The limits of one call, and what was seen on its connection."""

    timeouts: Timeouts
    latest: float  #: monotonic; the job's deadline, which may come before the call's own total
    cancelled: Callable[[], bool] = lambda: False
    began: float = field(default_factory=time.monotonic)
    headers: Mapping[str, str] = field(default_factory=dict)  #: of the response
    connected: bool = False  #: a new connection was made for this call
    received: int = 0  #: bytes that came back
    first_token: float | None = None  #: seconds until the first token
    ended: str | None = None  #: the stage that ended the call: a time-out's name or ``cancelled``
    progress: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """The request goes out now: what came before, as loading an SDK, is not the provider's time."""
        self.began = self.progress = time.monotonic()

    @property
    def deadline(self) -> float:
        return min(self.latest, self.began + self.timeouts.total)

    def token(self) -> None:
        """The model said something: the idle limit starts again."""
        self.progress = time.monotonic()
        if self.first_token is None:
            self.first_token = self.progress - self.began

    def check(self) -> None:
        """Raises: Expired when the call may wait no longer."""
        now = time.monotonic()
        if self.cancelled():
            self._end("cancelled")
        if now >= self.deadline:
            self._end("total")
        limit = self.timeouts.first_token if self.first_token is None else self.timeouts.idle
        if now - self.progress >= limit:
            self._end("first_token" if self.first_token is None else "idle")

    def at_most(self, seconds: float) -> float:
        """So many seconds, or what is left of the call."""
        return max(0.001, min(seconds, self.deadline - time.monotonic()))

    def hurry(self, seconds: float) -> None:
        """What matters has been said: wait no longer than this for the rest."""
        self.latest = min(self.latest, time.monotonic() + seconds)

    def receive(self, count: int) -> None:
        """Raises: Expired when an answer is larger than any model's."""
        self.received += count
        if self.received > MOST_BYTES:
            self._end("size")

    def _end(self, stage: str) -> None:
        self.ended = stage
        raise Expired(stage)


_current: ContextVar[Watch | None] = ContextVar("llm_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Hold every client of :func:`watched` in this thread to the watch's limits."""
    token = _current.set(watch)
    try:
        yield watch
    finally:
        _current.reset(token)


def watched(client: Any) -> Any:
    """Put an ``httpx`` or ``httpx2`` client under the watch: its connections, and the headers of its responses."""
    transports = [client._transport, *(mount for mount in client._mounts.values() if mount is not None)]
    for transport in transports:
        pool = transport._pool  # the two libraries have no public way to set a network backend
        pool._network_backend = _Backend(pool._network_backend)
    client.event_hooks = {"request": [], "response": [_note_headers]}
    return client


def _note_headers(response: Any) -> None:
    watch = _current.get()
    if watch is not None:
        watch.headers = response.headers


class _Backend:
    """A network backend whose streams ask the watch before they wait on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        watch = _current.get()
        if watch is not None:
            watch.check()
            watch.connected = True
            timeout = watch.at_most(watch.timeouts.connect)
        return _Stream(self._inner.connect_tcp(host, port, timeout=timeout, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Stream:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = _current.get()
        if watch is None:
            data: bytes = self._inner.read(max_bytes, timeout=timeout)
            return data
        while True:
            watch.check()
            try:
                data = self._inner.read(max_bytes, timeout=watch.at_most(SLICE))
            except Exception as waited:
                if type(waited).__name__ != "ReadTimeout":  # httpcore's or httpcore2's
                    raise
                continue
            watch.receive(len(data))
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        watch = _current.get()
        if watch is not None:
            watch.check()
            timeout = watch.at_most(watch.timeouts.idle)
        self._inner.write(buffer, timeout=timeout)

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        watch = _current.get()
        if watch is not None:
            timeout = watch.at_most(watch.timeouts.connect)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
