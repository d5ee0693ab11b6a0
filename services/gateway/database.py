"""Postgres as a request uses it: a transaction for a write, plain statements for a read, one error for its faults."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from typing import Annotated, Any, cast

import psycopg
import structlog
from fastapi import Depends, Request, Response
from sqlalchemy import event, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import QueuePool

from services.gateway.admission.slots import Slots
from shared.db import connect_async, reason_of, shares_sessions, sqlstate_of
from shared.errors import AssayError, DatabaseFailed, DatabaseUnavailable, InvalidRequest, QueryTooSlow, StorageFull

log = structlog.get_logger(__name__)

#: Of all tenants: for what is not the request of one, and for administrators.
EVERYONE = "*"
UNAVAILABLE = "Postgres does not answer; nothing was written. Try again shortly."
READ_ONLY = "Postgres is read-only: nothing was written. Reading works; try again once it takes changes."
_READ_ONLY = "25006"
_ACTS_FOR = "acts_for"
_TESTED_AT = "tested_at"
_ACT = text("SELECT set_config('assay.tenant', :tenant, false)")
_ACT_ONCE = text("SELECT set_config('assay.tenant', :tenant, true)")  #: until the transaction ends
#: SQLSTATE classes and codes of a server that cannot serve now, whatever the statement is.
_AWAY = ("08", "40", "53", "57", "25006", "55P03")
#: And of one that answers, but is broken: its files, its configuration, its tables or its own code.
_BROKEN = ("58", "F0", "XX", "HV")
_DISK_FULL = "53100"
_TIMED_OUT = "57014"
#: How long a request waits for a connection while Postgres answers no request at all; then it counts as away.
_SILENT_SECONDS = 0.8
_CHECK_SECONDS = 0.1
#: And while other requests are answered.
_WAIT_SECONDS = 10.0
#: How long a statement that Postgres failed inside of is a reason to call it degraded.
_SHOWN_SECONDS = 30.0
#: After this long without an answer a connection is tested before it is used.
_AWAKE_SECONDS = 0.1


class Database:
    """A pool of connections to Postgres, of which each tenant has a share; faults become problems."""

    def __init__(self, url: str, connections: int, weight: Callable[[str], int] = lambda tenant: 1) -> None:
        self._weight = weight
        self._engine = connect_async(url, connections, _WAIT_SECONDS)
        self._answered_at = -_SILENT_SECONDS
        self._lost_at = -_SILENT_SECONDS  #: when a connection was last found broken
        self._failed_at, self._failed_with = -_SHOWN_SECONDS, ""  #: the last statement that Postgres failed inside of
        self._closed = False
        self._late: set[asyncio.Future[Any]] = set()  #: attempts that continue without a request
        share = max(1, connections // 3)
        self._slots = Slots(
            "database",
            share,
            alone=connections,
            patient=max(1, connections - share),
            seconds=_WAIT_SECONDS,
            check=self._check_answers,
        )
        engine = self._engine.sync_engine
        event.listen(engine, "after_cursor_execute", self._answered)
        event.listen(engine, "handle_error", self._failed)

    async def close(self) -> None:
        self._closed = True
        if self._late:
            await asyncio.wait(self._late, timeout=_SILENT_SECONDS)
        await self._engine.dispose()

    @property
    def failing(self) -> str | None:
        """The SQLSTATE with which Postgres has just failed a statement although it answers."""
        return self._failed_with if time.monotonic() - self._failed_at < _SHOWN_SECONDS else None

    @asynccontextmanager
    async def read(self, tenant: str = EVERYONE) -> AsyncIterator[AsyncConnection]:
        """Open a connection that sees the rows of one tenant; every statement on it is its own transaction.

        Through a pooler they are one transaction: only that is sure to stay in the session that knows the tenant.
        """
        async with self._slot(tenant), self._connection() as connection:
            if shares_sessions(_info(connection)):
                await _begin(connection, tenant)
            else:
                await _act_for(connection, tenant)
            yield connection
            await connection.commit()  # a submit is one statement, and comes here

    @asynccontextmanager
    async def write(self, tenant: str = EVERYONE) -> AsyncIterator[AsyncConnection]:
        """Open a transaction, which is committed unless the block raises."""
        async with self._slot(tenant), self._connection() as connection:
            await _begin(connection, tenant)
            yield connection
            await connection.commit()

    def _slot(self, tenant: str) -> AbstractAsyncContextManager[None]:
        return nullcontext() if tenant == EVERYONE else self._slots.hold(tenant, self._weight(tenant))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            with database_errors():
                connection = await self._acquire()
                try:
                    yield connection
                finally:
                    await self._release(connection)
        except DatabaseFailed as failed:
            self._failed_at, self._failed_with = time.monotonic(), str(failed.extra["sqlstate"])
            raise

    async def _acquire(self) -> AsyncConnection:
        """Return a connection that works. Raises: DatabaseUnavailable when Postgres answers no request.

        After the timeout the attempt continues alone: a driver that is cancelled while the server hangs would hang too.
        """
        if self._is_awake() and cast(QueuePool, self._engine.pool).checkedin():
            connection = await self._engine.connect()
            if self._is_newer(connection):
                return connection
            await self._release(connection)
        attempt = asyncio.ensure_future(self._connect())
        waited = 0.0
        try:
            while not attempt.done():
                await asyncio.wait({attempt}, timeout=_CHECK_SECONDS)
                waited += _CHECK_SECONDS  # on a busy machine it was longer, as it is for Postgres
                if not attempt.done():
                    self._check_answers(waited)
        except BaseException:  # also of a request that is cancelled at the moment at which its connection is open
            self._keep_late(attempt)
            attempt.add_done_callback(self._abandoned)
            raise
        return attempt.result()

    async def _connect(self) -> AsyncConnection:
        connection = await self._engine.connect()
        if self._is_awake() and self._is_newer(connection):
            return connection
        try:
            # After a silence the server may be gone, or may have restarted and dropped our connections.
            return await self._tested(connection)
        except DBAPIError:
            return await self._tested(await self._engine.connect())

    async def _tested(self, connection: AsyncConnection) -> AsyncConnection:
        try:
            await connection.exec_driver_sql("SELECT 1")
            await connection.rollback()
        except BaseException:
            await self._release(connection)
            raise
        _info(connection)[_TESTED_AT] = time.monotonic()
        return connection

    async def _release(self, connection: AsyncConnection) -> None:
        """Return it to its pool; once that is closed, no one else closes what comes back."""
        if self._closed:
            await connection.invalidate()
        await connection.close()

    def _abandoned(self, attempt: asyncio.Future[AsyncConnection]) -> None:
        """Return a connection that no request waits for any more."""
        if not attempt.cancelled() and attempt.exception() is None:
            self._keep_late(asyncio.ensure_future(self._release(attempt.result())))

    def _keep_late(self, late: asyncio.Future[Any]) -> None:
        self._late.add(late)
        late.add_done_callback(self._late.discard)

    def _is_newer(self, connection: AsyncConnection) -> bool:
        """Return whether it has worked since a connection was last found broken, as after a restart of the server."""
        return float(_info(connection).setdefault(_TESTED_AT, 0.0)) > self._lost_at

    def _is_awake(self) -> bool:
        """Return whether Postgres has just answered, so that its connections need no test."""
        return self._silent_for() < _AWAKE_SECONDS

    def _check_answers(self, waited: float) -> None:
        """Raise DatabaseUnavailable for a request that waited so long that Postgres must be unreachable."""
        if min(waited, self._silent_for()) > _SILENT_SECONDS:
            raise DatabaseUnavailable(UNAVAILABLE)

    def _silent_for(self) -> float:
        """Return the seconds since Postgres last answered any request."""
        return time.monotonic() - self._answered_at

    def _answered(self, *_: object) -> None:
        self._answered_at = time.monotonic()

    def _failed(self, context: ExceptionContext) -> None:
        if context.is_disconnect or context.connection is None:
            self._lost_at = time.monotonic()


class UnitOfWork:
    """One request's connection, opened when it is first needed, and what happens once it is committed."""

    def __init__(self, database: Database, writes: bool, tenant: str) -> None:
        self._database = database
        self._tenant = tenant
        self._writes = writes
        self._opened = AsyncExitStack()
        self._connection: AsyncConnection | None = None
        self.submitted: Counter[str] = Counter()  #: jobs that were accepted, by kind
        self.is_audited = False  #: the change has added its entry to the audit log in a separate transaction
        self.after_commit: list[Callable[[], None]] = []
        self.hold: Callable[[Response], Awaitable[Response]] | None = None  #: may replace the answer after the commit

    @property
    def tenant(self) -> str | None:
        """The tenant whose rows the request's connection sees; None when it sees those of all."""
        return None if self._tenant == EVERYONE else self._tenant

    async def connect(self) -> AsyncConnection:
        if self._connection is None:
            begin = self._database.write if self._writes else self._database.read
            self._connection = await self._opened.enter_async_context(begin(self._tenant))
        return self._connection

    async def commit(self) -> None:
        """Commit the transaction. Raises: DatabaseUnavailable."""
        await self._opened.aclose()

    async def roll_back(self, error: BaseException) -> None:
        """Roll back because of the error. Raises: the problem that it turns out to be, when it was the driver's."""
        await self._opened.__aexit__(type(error), error, error.__traceback__)


async def _begin(connection: AsyncConnection, tenant: str) -> None:
    """Begin a transaction that sees the rows of one tenant only (see ``migrations.roles``)."""
    if not shares_sessions(_info(connection)):
        await _act_for(connection, tenant)
        await connection.exec_driver_sql("BEGIN")
        return
    await connection.exec_driver_sql("BEGIN")
    await connection.execute(_ACT_ONCE, {"tenant": tenant})


async def _act_for(connection: AsyncConnection, tenant: str) -> None:
    """Let the session see the rows of one tenant only, if it does not already."""
    if _info(connection).get(_ACTS_FOR) != tenant:
        await connection.execute(_ACT, {"tenant": tenant})
        _info(connection)[_ACTS_FOR] = tenant


def _info(connection: AsyncConnection) -> dict[Any, Any]:
    """Return what is kept with the connection as long as it is open."""
    assert connection.sync_connection is not None
    return connection.sync_connection.info


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn the driver's errors into problems: the server's into 503, values that it cannot hold into 422."""
    try:
        yield
    except (PoolTimeout, ConnectionError) as error:
        raise DatabaseUnavailable(UNAVAILABLE) from error
    except (DBAPIError, psycopg.Error) as error:
        if (problem := _problem_of(error)) is None:
            raise
        raise problem from error


def _problem_of(error: DBAPIError | psycopg.Error) -> AssayError | None:
    """Return the problem behind a driver's error; None for a defect of ours, which the caller logs.

    Whatever has an SQLSTATE was said by a server that answers, so it is logged in the server's own words.
    """
    inner, state = getattr(error, "orig", error), sqlstate_of(error)
    if state == _TIMED_OUT:
        return QueryTooSlow()
    if isinstance(inner, psycopg.DataError):
        return InvalidRequest("A value in the request cannot be kept.")
    operational = isinstance(error, (OperationalError, InterfaceError, psycopg.OperationalError))
    if not state:
        return DatabaseUnavailable(UNAVAILABLE) if operational else None
    if state.startswith(_AWAY):
        log.warning("database_refused", sqlstate=state, reason=reason_of(error))
        return StorageFull() if state == _DISK_FULL else DatabaseUnavailable(_refused(state))
    if operational or state.startswith(_BROKEN):
        log.error("database_failed", sqlstate=state, reason=reason_of(error))
        return DatabaseFailed(state)
    return None


def _refused(state: str) -> str:
    if state.startswith(("08", "57P")):
        return UNAVAILABLE
    if state == _READ_ONLY:
        return READ_ONLY
    return f"Postgres cannot serve this now (SQLSTATE {state}); nothing was written. Try again shortly."


async def _connection(request: Request) -> AsyncConnection:
    return await cast(UnitOfWork, request.state.unit).connect()


async def _unit(request: Request) -> UnitOfWork:
    return cast(UnitOfWork, request.state.unit)


async def _row_tenant(request: Request) -> str | None:
    return cast(UnitOfWork, request.state.unit).tenant


#: The request's connection: a transaction for POST, PUT and DELETE, committed when the route has answered below 400.
Db = Annotated[AsyncConnection, Depends(_connection)]
#: The tenant whose rows ``Db`` sees, for the statements; None: of all (``EndpointRules.all_tenants``).
RowTenant = Annotated[str | None, Depends(_row_tenant)]
#: The request's unit of work: what happens ``after_commit``, and ``hold`` of the answer.
Unit = Annotated[UnitOfWork, Depends(_unit)]
