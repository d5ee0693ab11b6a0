"""Days of ``job_events``: added ahead, and dropped when retention has deleted the last of their jobs.

A transaction that waits for a lock of the whole table blocks every event that is written in the meantime: it waits
only briefly, and tries again in the next round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import Engine, RowMapping
from sqlalchemy.exc import OperationalError

from shared.jobs import metrics
from shared.jobs.upkeep import partitions

log = structlog.get_logger(__name__)

_BUSY = "55P03"  # SQLSTATE lock_not_available
_BATCH = 2_000
#: A round ends after this; the next continues where it stopped.
_MAX_SECONDS = 45.0
_SWEEP_AGAIN_SECONDS = 3_600.0


def add_days(engine: Engine) -> None:
    """Create a partition for each of the coming days, and report their number."""
    with _given_up_when_busy(), engine.begin() as connection:
        added = connection.execute(partitions.add_days()).scalar_one()
        if added:
            log.info("event_days_added", days=added)
    with engine.connect() as connection:
        metrics.job_event_days_ahead.set(connection.execute(partitions.days_ahead()).scalar_one())


class PastDays:
    """Drops days whose jobs are gone; of a day that a late job holds, deletes the events of the others."""

    def __init__(self, engine: Engine, retention_days: float) -> None:
        self._engine = engine
        self._retention_days = retention_days
        self._swept_up_to: dict[str, str] = {}  #: partition -> job, while it is being swept
        self._sweep_at: dict[str, float] = {}

    def drop(self) -> None:
        """Do one round, which ends where it would have to wait for a lock."""
        with self._engine.connect() as connection:
            past = connection.execute(partitions.past_days(self._retention_days)).mappings().all()
        with _given_up_when_busy():
            for day in past:
                if not self._drop(day["name"]) and day["late"]:
                    self._sweep(day)

    def _drop(self, name: str) -> bool:
        began = time.monotonic()
        with self._engine.begin() as connection:
            dropped: bool = connection.execute(partitions.drop(name)).scalar_one()
        if dropped:
            log.info("event_days_dropped", partition=name, seconds=round(time.monotonic() - began, 3))
        return dropped

    def _sweep(self, day: RowMapping) -> None:
        name, until = day["name"], time.monotonic() + _MAX_SECONDS
        if time.monotonic() < self._sweep_at.get(name, 0):
            return
        after: str | None = self._swept_up_to.pop(name, day["from_id"])
        while after is not None:
            if time.monotonic() >= until:
                self._swept_up_to[name] = after
                return
            with self._engine.begin() as connection:
                statement = partitions.orphaned_events(after, day["to_id"], _BATCH)
                after = connection.execute(statement).scalar_one()
        self._sweep_at[name] = time.monotonic() + _SWEEP_AGAIN_SECONDS


@contextmanager
def _given_up_when_busy() -> Iterator[None]:
    try:
        yield
    except OperationalError as fault:
        if getattr(fault.orig, "sqlstate", None) != _BUSY:
            raise
        log.info("event_days_busy")
