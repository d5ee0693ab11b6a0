"""The leases of one worker: one thread renews them all, hears of cancellations, and tells when one was lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from shared.jobs import statements

log = structlog.get_logger(__name__)

#: A cancelled job stops within this many seconds, or is ended without waiting for it.
KILL_AFTER_SECONDS = 4.0
#: Often enough that a cancellation is heard of within a second.
_MOST_SECONDS_BETWEEN = 0.7


@dataclass
class Held:
    """A job that this worker runs."""

    job_id: str
    fence: int
    cancelled: threading.Event = field(default_factory=threading.Event)  #: the capability should stop
    lost: threading.Event = field(default_factory=threading.Event)  #: another worker may have it: write nothing
    asked_at: float | None = None  #: when this worker heard of the cancellation (monotonic)


class Leases:
    """Renews leases until stopped.

    ``overdue`` is called once for a job that was cancelled and did not stop; ``also`` runs with every beat.
    """

    def __init__(
        self,
        engine: Engine,
        lease_seconds: float,
        overdue: Callable[[Held], None],
        also: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._lease_seconds = lease_seconds
        self._overdue = overdue
        self._also = also
        self._held: dict[str, Held] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def hold(self, job_id: str, fence: int) -> Held:
        held = Held(job_id, fence)
        with self._lock:
            self._held[job_id] = held
        return held

    def release(self, held: Held) -> None:
        with self._lock:
            if self._held.get(held.job_id) is held:
                del self._held[held.job_id]

    def all(self) -> Sequence[Held]:
        with self._lock:
            return list(self._held.values())

    def _beat(self) -> None:
        every = min(self._lease_seconds / 3, _MOST_SECONDS_BETWEEN)
        while not self._stop.wait(every):
            try:
                self._renew(self.all())
                self._also()
            except SQLAlchemyError as fault:
                # Postgres is away: the jobs go on, and the next beat tells whether the leases survived.
                log.warning("heartbeat_failed", reason=type(fault).__name__)

    def _renew(self, jobs: Sequence[Held]) -> None:
        if not jobs:
            return
        statement = statements.heartbeat([job.job_id for job in jobs], [job.fence for job in jobs], self._lease_seconds)
        with self._engine.begin() as connection:
            alive: Mapping[str, object] = {row.id: row.cancel_requested_at for row in connection.execute(statement)}
        now = time.monotonic()
        for job in jobs:
            if job.job_id not in alive:
                if self._still_held(job):
                    job.lost.set()
                    job.cancelled.set()
            elif alive[job.job_id] is not None:
                self._cancel(job, now)

    def _cancel(self, job: Held, now: float) -> None:
        if job.asked_at is None:
            job.asked_at = now
            job.cancelled.set()
        elif now - job.asked_at > KILL_AFTER_SECONDS and not job.lost.is_set():
            self._overdue(job)

    def _still_held(self, job: Held) -> bool:
        """Whether it has not just completed while the heartbeat was under way."""
        with self._lock:
            return self._held.get(job.job_id) is job
