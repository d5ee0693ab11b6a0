"""Writes of a worker that outlast a Postgres that goes away: tried again until they land or the lease is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy import Connection, Engine, Executable, Row
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shared.jobs.leases import Held

log = structlog.get_logger(__name__)
Answer = TypeVar("Answer")

_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)


class LeaseLost(Exception):
    """The job belongs to someone else now: whatever this run would write is void."""


class Record:
    """The database as one worker's jobs write to it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        #: For statements that are atomic by themselves: one round trip instead of three.
        self.autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")

    def write(self, statement: Executable, held: Held) -> Row[tuple[object, ...]] | None:
        """Execute one statement, which is atomic by itself; its first row, or None without one."""
        return self._until_written(lambda: self._single(statement), held)

    def transact(self, work: Callable[[Connection], Answer], held: Held) -> Answer:
        """Run ``work`` in one transaction, again from the start when the connection broke.

        Every statement in it is fenced, so running it twice changes nothing twice.

        Raises: LeaseLost when the lease was lost meanwhile.
        """
        return self._until_written(lambda: self._in_transaction(work), held)

    def _single(self, statement: Executable) -> Row[tuple[object, ...]] | None:
        with self.autocommit.connect() as connection:
            return connection.execute(statement).first()

    def _in_transaction(self, work: Callable[[Connection], Answer]) -> Answer:
        with self.engine.begin() as connection:
            return work(connection)

    def _until_written(self, work: Callable[[], Answer], held: Held) -> Answer:
        tries = 0
        while True:
            try:
                return work()
            except (OperationalError, PoolTimeout, DBAPIError) as fault:
                if isinstance(fault, DBAPIError) and not (
                    fault.connection_invalidated or isinstance(fault, OperationalError)
                ):
                    raise
                log.warning("write_failed", reason=type(fault).__name__, tries=tries)
            if held.lost.wait(_PAUSES[min(tries, len(_PAUSES) - 1)]):
                raise LeaseLost
            tries += 1
