"""The reconciler: finds in Postgres what was lost (notifications, leases, webhooks) and repairs it.

Any number may run; the one that holds an advisory lock in Postgres leads, the others wait for its lock. It is held by
a transaction that does nothing else: a pooler keeps that in one session, and no snapshot of it holds up vacuum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event as Flag

import structlog
from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from shared.db import prepare_nothing, reason_of
from shared.jobs import metrics
from shared.jobs.upkeep.maintenance import LEADER_LOCK

log = structlog.get_logger(__name__)

_TICK_SECONDS = 0.25
_RETRY_SECONDS = 1.0


@dataclass
class PeriodicTask:
    """Work that is done again and again while this reconciler leads."""

    name: str
    every_seconds: float
    work: Callable[[], object]
    due: float = 0.0
    running: Future[None] | None = None


class Reconciler:
    """Runs its periodic tasks while it leads."""

    def __init__(
        self,
        engine: Engine,
        tasks: Sequence[PeriodicTask],
        say_ready: Callable[[], None] = lambda: None,
        tick_seconds: float = _TICK_SECONDS,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        """``say_ready`` is called in every round, whether this one leads or not.

        ``retry_seconds`` is the time between two attempts to lead.
        """
        self._say_ready = say_ready
        self._tick_seconds = tick_seconds
        self._retry_seconds = retry_seconds
        self._engine = engine
        self._tasks = tasks
        self._threads = ThreadPoolExecutor(len(tasks), thread_name_prefix="task")

    def run(self, stop: Flag) -> None:
        """Lead while no other reconciler does, until ``stop`` is set; losing Postgres only loses the lead."""
        while not stop.is_set():
            self._say_ready()
            try:
                self._lead(stop)
            except SQLAlchemyError as fault:
                log.warning("postgres_away", reason=reason_of(fault))
            stop.wait(self._retry_seconds)

    def _lead(self, stop: Flag) -> None:
        # The lock lives as long as this transaction: a leader that dies releases it at once.
        with self._engine.begin() as connection:
            if not connection.scalar(select(func.pg_try_advisory_xact_lock(LEADER_LOCK))):
                return
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            # What a prepared statement has read is held until the next one.
            if (driver := connection.connection.dbapi_connection) is not None:
                prepare_nothing(driver)
            log.info("leading")
            metrics.reconciler_leading.set(1)
            try:
                while not stop.wait(self._tick_seconds):
                    self._tick(connection)
            finally:
                metrics.reconciler_leading.set(0)

    def _tick(self, leader: Connection) -> None:
        self._say_ready()
        leader.scalar(select(1))  # raises when the connection, and with it the lead, is lost
        now = time.monotonic()
        for task in self._tasks:
            if now >= task.due and (task.running is None or task.running.done()):
                task.due = now + task.every_seconds
                task.running = self._threads.submit(_do, task)


def _do(task: PeriodicTask) -> None:
    """Run a task; its fault, or its slowness, must not delay the others: leases and notifications above all."""
    try:
        with metrics.reconciler_task_seconds.labels(task.name).time():
            task.work()
        metrics.reconciler_task_last_success.labels(task.name).set_to_current_time()
    except SQLAlchemyError as fault:
        metrics.reconciler_task_failures.labels(task.name).inc()
        log.warning("task_postponed", task=task.name, reason=reason_of(fault))
    except Exception:
        metrics.reconciler_task_failures.labels(task.name).inc()
        log.exception("task_failed", task=task.name)
