"""The record as a request sees it: a transaction for a write, plain statements for a read, one error for its faults."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Annotated, cast

import psycopg
from fastapi import Depends, Request, Response
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from shared.db import CONNECT, READ_JSON, with_driver
from shared.errors import DatabaseUnavailable, InvalidRequest

#: SQLSTATE classes and codes that say that the server cannot serve now, whatever the statement is.
_AWAY = ("08", "40", "53", "57", "58", "25006", "55P03")
#: How long a request waits for a connection while Postgres answers no request at all; then it counts as away.
_SILENT_SECONDS = 0.8
#: And while other requests are answered.
_TURN_SECONDS = 10.0
#: After this long without an answer a connection is tested before it is used.
_AWAKE_SECONDS = 0.1


def _engine(url: str, pool_size: int, *, autocommit: bool = False) -> AsyncEngine:
    """An engine; with ``autocommit`` every statement stands alone, and nothing is reset after use."""
    return create_async_engine(
        with_driver(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=_TURN_SECONDS,
        connect_args=CONNECT,
        json_deserializer=READ_JSON,
        isolation_level="AUTOCOMMIT" if autocommit else "READ COMMITTED",
        pool_reset_on_return=None if autocommit else "rollback",
    )


class Database:
    """Connections to Postgres, and its faults as problems."""

    def __init__(self, url: str, connections: int) -> None:
        self._engine = _engine(url, connections)
        # Connections of their own: changing one from transactions to single statements and back costs as much as
        # a statement does.
        self._plain = _engine(url, connections, autocommit=True)
        self._answered_at = -_SILENT_SECONDS
        for engine in (self._engine, self._plain):
            event.listen(engine.sync_engine, "after_cursor_execute", self._answered)

    async def close(self) -> None:
        await self._engine.dispose()
        await self._plain.dispose()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which every statement stands alone."""
        async with self._connection(self._plain) as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction; it is committed unless the block raises."""
        async with self._connection(self._engine) as connection:
            yield connection
            await connection.commit()

    @asynccontextmanager
    async def _connection(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        with database_errors():
            connection = await self._acquire(engine)
            try:
                yield connection
            finally:
                await connection.close()

    async def _acquire(self, engine: AsyncEngine) -> AsyncConnection:
        """A connection that works. Raises: DatabaseUnavailable when Postgres answers no request.

        Too late, the attempt is left to itself: a driver that is cancelled while the server hangs would hang as well.
        """
        if self._is_awake() and cast(QueuePool, engine.pool).checkedin():
            return await engine.connect()
        attempt = asyncio.ensure_future(self._connect(engine))
        try:
            while not attempt.done():
                await asyncio.wait({attempt}, timeout=_SILENT_SECONDS)
                if not attempt.done() and self._silent_for() > _SILENT_SECONDS:
                    raise DatabaseUnavailable(_DETAIL)
        finally:
            if not attempt.done():
                attempt.add_done_callback(_abandoned)
        return attempt.result()

    async def _connect(self, engine: AsyncEngine) -> AsyncConnection:
        connection = await engine.connect()
        if self._is_awake():
            return connection
        try:
            # After a silence the server may have gone, or come back and forgotten our connections.
            await connection.exec_driver_sql("SELECT 1")
        except DBAPIError:
            await connection.close()
            connection = await engine.connect()
            await connection.exec_driver_sql("SELECT 1")
        await connection.rollback()
        return connection

    def _is_awake(self) -> bool:
        """Whether Postgres has answered a moment ago, so that its connections need no test."""
        return self._silent_for() < _AWAKE_SECONDS

    def _silent_for(self) -> float:
        """Seconds since Postgres has last answered any request."""
        return time.monotonic() - self._answered_at

    def _answered(self, *_: object) -> None:
        self._answered_at = time.monotonic()


class UnitOfWork:
    """One request's connection, opened when it is first needed, and what happens once it is committed."""

    def __init__(self, database: Database, writes: bool) -> None:
        self._database = database
        self._writes = writes
        self._opened = AsyncExitStack()
        self._connection: AsyncConnection | None = None
        self.after_commit: list[Callable[[], None]] = []
        self.hold: Callable[[Response], Awaitable[Response]] | None = None  #: may replace the answer after the commit

    async def connect(self) -> AsyncConnection:
        if self._connection is None:
            connection = self._database.write() if self._writes else self._database.read()
            self._connection = await self._opened.enter_async_context(connection)
        return self._connection

    async def commit(self) -> None:
        """Raises: DatabaseUnavailable."""
        await self._opened.aclose()

    async def roll_back(self, error: BaseException) -> None:
        """Roll back because of the error. Raises: the problem that it turns out to be, when it was the driver's."""
        await self._opened.__aexit__(type(error), error, error.__traceback__)


def _abandoned(attempt: asyncio.Future[AsyncConnection]) -> None:
    """Return a connection to the pool that no request waits for any more."""
    if not attempt.cancelled() and attempt.exception() is None:
        closing = asyncio.ensure_future(attempt.result().close())
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)


_CLOSING: set[asyncio.Future[None]] = set()
_DETAIL = "Postgres does not answer; nothing was written. Try again shortly."


@contextmanager
def database_errors() -> Iterator[None]:
    """Turns the driver's errors into problems: the server's into 503, values that it cannot hold into 422."""
    try:
        yield
    except (PoolTimeout, psycopg.OperationalError, ConnectionError) as error:
        raise DatabaseUnavailable(_DETAIL) from error
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or ""
        if isinstance(error, (OperationalError, InterfaceError)) or state.startswith(_AWAY):
            raise DatabaseUnavailable(_DETAIL) from error
        if isinstance(error.orig, psycopg.DataError):
            raise InvalidRequest("A value in the request cannot be kept.") from error
        raise


async def _connection(request: Request) -> AsyncConnection:
    return await cast(UnitOfWork, request.state.unit).connect()


async def _unit(request: Request) -> UnitOfWork:
    return cast(UnitOfWork, request.state.unit)


#: The request's connection: a transaction for POST, PUT and DELETE, committed when the route has answered below 400.
Db = Annotated[AsyncConnection, Depends(_connection)]
#: The request's dealings with the record: ``after`` the commit, and ``hold`` of the answer.
Unit = Annotated[UnitOfWork, Depends(_unit)]
