"""The clock of one call: every wait on the provider's socket ends at the call's own limits, or when it is cancelled.

The SDKs' time-outs count from byte to byte, so a server that sends a comment each second could hold a worker for
ever. The limits here are enforced below the SDKs, at the socket (``wires.transport``), where no answer can exceed them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

MAX_BYTES = 64 * 1024 * 1024
POLL_SECONDS = 0.2  #: how long a read waits before it checks the clock and the cancellation


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
    allowed: Timeouts | None = None  #: the endpoint's own limits, which the job's time may have cut
    began: float = field(default_factory=time.monotonic)
    headers: Mapping[str, str] = field(default_factory=dict)  #: of the response
    connected: bool = False  #: a new connection was made for this call
    stage: str = ""  #: how far a new connection came: ``tcp``, ``tls``, ``open``
    received: int = 0  #: bytes that came back
    first_token: float | None = None  #: seconds until the first token
    queued: float | None = None  #: seconds for which it waited for a slot before it began
    done: bool = False  #: the stream said that it has ended
    ended: str | None = None  #: the stage that ended the call: a time-out's name or ``cancelled``
    progress: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Start the clock as the request is sent: earlier work, such as loading an SDK, does not count."""
        self.began = self.progress = time.monotonic()

    @property
    def deadline(self) -> float:
        return min(self.latest, self.began + self.timeouts.total)

    def token(self) -> None:
        """Record a token of the model: the idle limit restarts."""
        self.progress = time.monotonic()
        if self.first_token is None:
            self.first_token = self.progress - self.began

    def check(self) -> None:
        """Raise Expired when the call may not wait any longer."""
        now = time.monotonic()
        if self.cancelled():
            self._end("cancelled")
        if now >= self.deadline:
            self._end("total")
        limit = self.timeouts.first_token if self.first_token is None else self.timeouts.idle
        if now - self.progress >= limit:
            self._end("first_token" if self.first_token is None else "idle")

    def was_cut_short(self) -> bool:
        """Return whether the call ended before the endpoint's own limit: then the provider is not at fault."""
        allowed, now = self.allowed or self.timeouts, time.monotonic()
        match self.ended:
            case "first_token":
                return now - self.began < allowed.first_token
            case "idle":
                return now - self.progress < allowed.idle
            case "total":
                return now - self.began < allowed.total
            case _:  # the connection was not accepted in time; a socket's own clock may be a little ahead
                return now - self.began < 0.9 * allowed.connect

    def at_most(self, seconds: float) -> float:
        """Return the given seconds, or the rest of the call's time if that is less."""
        return max(0.001, min(seconds, self.deadline - time.monotonic()))

    def hurry(self, seconds: float) -> None:
        """Limit the remaining wait, because the essential part of the answer has arrived."""
        self.latest = min(self.latest, time.monotonic() + seconds)

    def receive(self, count: int) -> None:
        """Count received bytes. Raises: Expired when the answer is larger than any model's."""
        self.received += count
        if self.received > MAX_BYTES:
            self._end("size")

    def _end(self, stage: str) -> None:
        self.ended = stage
        raise Expired(stage)


_current: ContextVar[Watch | None] = ContextVar("llm_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Hold every watched connection that this thread uses to the watch's limits."""
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)


def current_watch() -> Watch | None:
    """Return the watch of this thread's current call."""
    return _current.get()
