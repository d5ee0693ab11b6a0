"""Watch a job: its turns as they happen, drawn for a person, told line by line otherwise."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from assay.calls import jobs
from assay.commands.describe import Attempts, describe

if TYPE_CHECKING:
    from assay.commands.session import Session
    from assay.events import JobEvent

#: So long a job may wait while no worker for its kind is alive, before we stop waiting with it.
_NO_WORKER_SECONDS = 6.0


class NoWorker(Exception):
    """The job is queued and nobody is there to take it."""


def follow(session: Session, job: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
    """Tell what happens until the job has ended; answers the finished job.

    Raises: JobTimeout, NoWorker; either way the job goes on.
    """
    from assay.errors import JobTimeout  # noqa: PLC0415

    id = str(job["id"])
    deadline = None if timeout is None else time.monotonic() + timeout
    after, known = 0, dict(job)
    with _teller(session, id) as teller:
        while known["state"] in ("queued", "running"):
            left = _NO_WORKER_SECONDS if deadline is None else min(_NO_WORKER_SECONDS, deadline - time.monotonic())
            for event in _events(session, id, after, left, patient=known["state"] == "running", deadline=deadline):
                after = event.seq
                teller.tell(event)
            known = session.client.fetch(jobs.get(id))
            if (known.get("waiting") or {}).get("reason") == "no_worker":
                raise NoWorker(f"no live worker takes {known['kind']} jobs; job {id} stays queued")
            if deadline is not None and time.monotonic() >= deadline and known["state"] in ("queued", "running"):
                raise JobTimeout(id, timeout or 0)
    return known


def _events(
    session: Session, id: str, after: int, left: float, *, patient: bool, deadline: float | None
) -> Iterator[JobEvent]:
    """Events until the end, or for as long as it makes sense to listen before looking at the job again."""
    if patient:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        yield from session.client.events(id, after, wait)
        return
    for event in session.client.events(id, after, max(0.0, left)):
        yield event
        if event.type == "job_started":
            return


class _Teller(Protocol):
    def tell(self, event: JobEvent) -> None: ...


def _teller(session: Session, id: str) -> AbstractContextManager[_Teller]:
    if session.lively:
        from assay.commands.live import Live  # noqa: PLC0415 - rich

        return Live(id)
    return nullcontext(_Lines(session))


class _Lines:
    """One line per event; JSON with ``--json``. Program output is left to the result."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._attempts = Attempts()

    def tell(self, event: JobEvent) -> None:
        if self._session.json:
            self._session.say(json.dumps(event.data, ensure_ascii=False))
            return
        for line in filter(None, (describe(event), *self._attempts.lines(event))):
            self._session.say(line)
