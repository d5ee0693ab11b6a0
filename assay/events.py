"""A job's events as they happen, over as many connections as it takes. Without I/O but for the clock."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.errors import APIConnectionError
from assay.exchange import backoff

TERMINAL = frozenset({"job_succeeded", "job_failed", "job_cancelled", "job_dead"})
#: Connections in a row that brought nothing; about half a minute with the pauses between them.
MAX_FAILURES = 8
#: The server says something every 15 s; a longer silence is a dead connection.
_SILENCE = 45.0
#: A connection that lasted so long was a good one.
_LASTING = 5.0


@dataclass(frozen=True)
class JobEvent:
    type: str
    job_id: str
    seq: int
    at: str
    data: Mapping[str, Any]  #: all fields, the type's own among them

    @property
    def terminal(self) -> bool:
        return self.type in TERMINAL


@dataclass
class Feed:
    """A reader's position in the events; it survives a dropped connection."""

    after: int = 0
    failures: int = 0
    retry_seconds: float | None = None  #: as the server wishes
    _last: str | None = None
    _opened: float = 0.0
    _patience: float = 0.0
    _rest: bytes = b""
    _id: str = ""
    _type: str = ""
    _data: list[str] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of a new connection."""
        self._reset()
        self._rest = b""
        return {"Accept": "text/event-stream", "Cache-Control": "no-store", "Last-Event-ID": str(self.after)}

    def receive(self, chunk: bytes) -> Iterator[JobEvent]:
        """Read a piece of the stream. Lines end with LF only: JSON may hold U+2028 and its like as they are."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            yield from self._take(line.removesuffix(b"\r").decode("utf-8", "replace"))

    @property
    def finished(self) -> bool:
        """Whether the last event has come."""
        return self._last is not None

    def begin(self, deadline: float | None) -> float:
        """Start the clock of a new connection and return the allowed silence in seconds; 0 when the time is over."""
        self._opened = time.monotonic()
        self._patience = _SILENCE if deadline is None else min(_SILENCE, deadline - self._opened)
        return max(self._patience, 0.0)

    def renew(self, deadline: float | None) -> bool:
        """Return whether to reconnect because the deadline is nearer than the allowed silence."""
        if deadline is None:
            return False
        now = time.monotonic()
        return now - self._opened > 1 and deadline - now < self._patience

    def pause(self, deadline: float | None) -> float:
        """Return the pause before the next connection. Raises: APIConnectionError after too many failures."""
        now = time.monotonic()
        self.failures = 1 if now - self._opened > _LASTING else self.failures + 1
        if self.failures > MAX_FAILURES:
            raise APIConnectionError(f"the job's events stopped after number {self.after} and did not come back")
        pause = self.retry_seconds or 0.1
        if self.failures > 1:
            pause = max(pause, backoff(self.failures - 2))
        return pause if deadline is None else max(0.0, min(pause, deadline - now))

    def _take(self, line: str) -> Iterator[JobEvent]:
        """Read one line of the stream; an empty one completes an event. What was seen before is not repeated."""
        if line:
            self._field(line)
            return
        data, self._data = self._data, []
        if data:
            event = self._event("\n".join(data))
            if event is not None:
                yield event
        self._reset()

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        elif name == "event":
            self._type = value
        elif name == "retry" and _is_number(value):
            self.retry_seconds = int(value) / 1000

    def _event(self, text: str) -> JobEvent | None:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(data, dict):
            return None
        seq = data.get("seq", self._id)
        number = int(seq) if _is_number(str(seq)) else self.after + 1
        if number <= self.after:
            return None
        event = JobEvent(
            type=str(data.get("type") or self._type),
            job_id=str(data.get("job_id", "")),
            seq=number,
            at=str(data.get("at", "")),
            data=data,
        )
        self.after, self.failures = number, 0
        self._last = event.type if event.terminal else None
        return event

    def _reset(self) -> None:
        self._id, self._type, self._data = "", "", []


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= 18
