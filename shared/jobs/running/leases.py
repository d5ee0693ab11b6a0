"""The leases of one worker, and writes under them.

One thread renews all leases, learns of cancellations, and marks the leases that were lost. Writes outlast an outage of
Postgres: they are tried again until they land or the lease is lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shared.db import reason_of
from shared.jobs.record import driver, statements
from shared.jobs.record.prepared import Statement
from shared.jobs.record.statements import Held
from shared.jobs.running.combined import CombinedCalls
from shared.jobs.running.interrupts import Interruptible

log = structlog.get_logger(__name__)
T = TypeVar("T")

#: A cancelled job that still computes after this many seconds is interrupted.
INTERRUPT_AFTER_SECONDS = 0.5
#: A cancelled job stops within this many seconds, or is ended without waiting for it.
KILL_AFTER_SECONDS = 4.0
#: A job that was ended and still holds its slot after this many more seconds is ended with its process.
STUCK_AFTER_SECONDS = 6.0
#: Often enough that a cancellation is noticed within a second.
MAX_SECONDS_BETWEEN = 0.7
MAX_TOGETHER = 50
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)


class LeaseLost(Exception):
    """Another worker may hold the job now: this run must not write any more."""


@dataclass
class Lease:
    """A job that this worker runs."""

    held: Held
    model_token: str = field(default="", repr=False)  #: lets the broker call models for this run
    cancelled: threading.Event = field(default_factory=threading.Event)  #: the capability should stop
    lost: threading.Event = field(default_factory=threading.Event)  #: another worker may have it: write nothing
    cancel_noticed_at: float | None = None  #: when this worker noticed the cancellation (monotonic)
    computation: Interruptible = field(default_factory=Interruptible)

    @property
    def job_id(self) -> str:
        return self.held.id


class Leases:
    """Renews leases until stopped.

    ``overdue`` is called for a job that was cancelled and did not stop, ``on_heartbeat`` with every heartbeat.
    """

    def __init__(
        self,
        engine: Engine,
        lease_seconds: float,
        overdue: Callable[[Lease], None],
        on_heartbeat: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._lease_seconds = lease_seconds
        self._overdue = overdue
        self._on_heartbeat = on_heartbeat
        self._held: dict[str, Lease] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def hold(self, lease: Lease) -> Lease:
        """Renew it from now on."""
        with self._lock:
            self._held[lease.job_id] = lease
        return lease

    def stuck(self) -> Sequence[Lease]:
        """Return the jobs that are over and still hold their slots."""
        now = time.monotonic()
        return [lease for lease in self.all() if _is_stuck(lease, now)]

    def came_back(self, lease: Lease) -> None:
        """Report that a job whose lease ran out did not kill this worker, which was only silent for too long."""
        with suppress(SQLAlchemyError), self._engine.begin() as connection:
            if connection.execute(statements.came_back(lease.held)).first() is not None:
                log.warning("lease_lost_without_crash", job_id=lease.job_id)

    def release(self, lease: Lease) -> None:
        with self._lock:
            if self._held.get(lease.job_id) is lease:
                del self._held[lease.job_id]

    def all(self) -> Sequence[Lease]:
        with self._lock:
            return list(self._held.values())

    def _beat(self) -> None:
        every = min(self._lease_seconds / 3, MAX_SECONDS_BETWEEN)
        while not self._stop.wait(every):
            for work in (self._renew_all, self._on_heartbeat):
                try:
                    work()
                except SQLAlchemyError as fault:
                    # Postgres is unreachable: the jobs continue, and the next heartbeat shows whether the leases
                    # survived.
                    log.warning("heartbeat_failed", reason=reason_of(fault))

    def _renew_all(self) -> None:
        self._renew(self.all())

    def _renew(self, jobs: Sequence[Lease]) -> None:
        if not jobs:
            return
        statement = statements.heartbeat([job.held for job in jobs], self._lease_seconds)
        with self._engine.begin() as connection:
            alive: Mapping[str, object] = {row.id: row.cancel_requested_at for row in connection.execute(statement)}
        now = time.monotonic()
        for job in jobs:
            if job.job_id not in alive:
                if self._still_held(job):
                    if not job.lost.is_set():
                        self.came_back(job)
                    job.lost.set()
                    job.cancelled.set()
                    self._cancel(job, now)
            elif alive[job.job_id] is not None:
                self._cancel(job, now)

    def _cancel(self, job: Lease, now: float) -> None:
        if job.cancel_noticed_at is None:
            job.cancel_noticed_at = now
            job.cancelled.set()
            return
        late = now - job.cancel_noticed_at
        if late > INTERRUPT_AFTER_SECONDS and job.computation.interrupt():
            log.warning("cancelled_job_interrupted", job_id=job.job_id)
        if late > KILL_AFTER_SECONDS and not job.lost.is_set():
            self._overdue(job)

    def _still_held(self, job: Lease) -> bool:
        """Return whether the job has not completed during the heartbeat."""
        with self._lock:
            return self._held.get(job.job_id) is job


def _is_stuck(lease: Lease, now: float) -> bool:
    noticed = lease.cancel_noticed_at
    return noticed is not None and now - noticed > KILL_AFTER_SECONDS + STUCK_AFTER_SECONDS


class LeasedWriter:
    """Writes of one worker's jobs: tried again until they land or the lease is lost."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        #: For statements that are atomic by themselves: one round trip instead of three.
        self.autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._together = CombinedCalls(partial(driver.first_rows, self.autocommit), MAX_TOGETHER)

    def write(self, statement: Statement, lease: Lease) -> Mapping[str, Any] | None:
        """Execute one statement, which is atomic by itself; its first row by column, or None without one."""
        return self._until_written(lambda: driver.first_row(self.autocommit, statement), lease)

    def end(self, statement: Statement, lease: Lease) -> Mapping[str, Any] | None:
        """Write as ``write`` does, for the statement that ends jobs: those that end at the same time share a
        transaction.
        """
        try:
            return self._together(statement)
        except SQLAlchemyError:  # nothing is written: by itself each job has only its own faults
            return self.write(statement, lease)

    def transact(self, work: Callable[[Connection], T], lease: Lease) -> T:
        """Run ``work`` in one transaction, again from the start when the connection broke.

        Every statement in it is fenced, so running it twice changes nothing twice.

        Raises: LeaseLost when the lease was lost meanwhile.
        """
        return self._until_written(lambda: self._in_transaction(work), lease)

    def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        with self.engine.begin() as connection:
            return work(connection)

    def _until_written(self, work: Callable[[], T], lease: Lease) -> T:
        tries = 0
        while True:
            try:
                return work()
            except (OperationalError, PoolTimeout, DBAPIError) as fault:
                if isinstance(fault, DBAPIError) and not (
                    fault.connection_invalidated or isinstance(fault, OperationalError)
                ):
                    raise
                log.warning("write_failed", reason=reason_of(fault), tries=tries)
            if lease.lost.wait(_PAUSES[min(tries, len(_PAUSES) - 1)]):
                raise LeaseLost
            tries += 1
