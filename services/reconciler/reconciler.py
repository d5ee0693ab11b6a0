"""The reconciler: what notifications, workers and webhooks lost is found in the record and repaired.

Any number may run; the one that holds an advisory lock in Postgres leads, the others wait for it to fall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Event as Flag

import structlog
from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

log = structlog.get_logger(__name__)

_LEADER_LOCK = 0x415353_41595243
_TICK_SECONDS = 0.25
_AFTER_A_FAULT_SECONDS = 1.0


@dataclass
class Chore:
    """Something that is done again and again."""

    name: str
    every_seconds: float
    work: Callable[[], object]
    due: float = 0.0
    running: Future[None] | None = None


class Reconciler:
    """Does its chores while it leads."""

    def __init__(self, engine: Engine, chores: Sequence[Chore]) -> None:
        self._engine = engine
        self._chores = chores
        self._threads = ThreadPoolExecutor(len(chores), thread_name_prefix="chore")

    def run(self, stop: Flag) -> None:
        """Lead when no one else does, until told to stop; a Postgres that goes away only costs the lead."""
        while not stop.is_set():
            try:
                self._lead(stop)
            except SQLAlchemyError as fault:
                log.warning("postgres_away", reason=type(fault).__name__)
            stop.wait(_AFTER_A_FAULT_SECONDS)

    def _lead(self, stop: Flag) -> None:
        # The lock lives as long as this connection: a leader that dies gives it up at once.
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if not connection.scalar(select(func.pg_try_advisory_lock(_LEADER_LOCK))):
                return
            log.info("leading")
            try:
                while not stop.wait(_TICK_SECONDS):
                    self._tick(connection)
            finally:
                with suppress(SQLAlchemyError):
                    connection.execute(select(func.pg_advisory_unlock(_LEADER_LOCK)))

    def _tick(self, leader: Connection) -> None:
        leader.scalar(select(1))  # raises when the connection, and with it the lead, is gone
        now = time.monotonic()
        for chore in self._chores:
            if now >= chore.due and (chore.running is None or chore.running.done()):
                chore.due = now + chore.every_seconds
                chore.running = self._threads.submit(_do, chore)


def _do(chore: Chore) -> None:
    """One chore's fault, or its slowness, must not hold up the others: leases and notifications above all."""
    try:
        chore.work()
    except SQLAlchemyError as fault:
        log.warning("chore_postponed", chore=chore.name, reason=type(fault).__name__)
    except Exception:
        log.exception("chore_failed", chore=chore.name)
