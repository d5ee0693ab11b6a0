"""Postgres: one metadata for every table, and the two ways to it: ``connect`` for threads, ``connect_async``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, Engine, Executable, MetaData, create_engine, event
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: What every connection of ours is opened with.
CONNECT = {
    "connect_timeout": 2,
    "application_name": "assay",
    # A frozen server must not hold a request or a heartbeat without limit. All our statements find their rows by an
    # index whatever the parameters: planning each again would cost more than running it.
    "options": "-c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000 -c timezone=UTC"
    " -c plan_cache_mode=force_generic_plan -c assay.direct=on",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 9_000,  # ms: keepalives do not run while a statement that was sent is not acknowledged
}

_SHARED = "shares_sessions"
_OF_VALUES = ("22", "23")  #: SQLSTATE classes whose words repeat values
_READ_ONLY = "25006"  # SQLSTATE read_only_sql_transaction
#: ``jsonb`` gives 1e30 back as a whole number of 31 digits: what does not fit into 64 bits is read as the float it was.
READ_JSON = orjson.loads


def connect(url: str, connections: int = 5) -> Engine:
    """Return an engine with a limited number of connections that acts for all tenants (see ``migrations.roles``), for
    workers.

    It connects when it is first used.

    No ping before each use: a connection that Postgres has closed fails once, its pool is emptied, and the caller
    tries again (``shared.jobs.running.leases``).
    """
    engine = create_engine(
        with_driver(url),
        poolclass=_Pool,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=5,
        pool_use_lifo=True,  # what Postgres caches for a connection is there once, not in each of the pool
        connect_args={**CONNECT, "options": f"{CONNECT['options']} -c assay.tenant=*"},
        json_deserializer=READ_JSON,
        hide_parameters=True,  # an error is logged, and parameters are what tenants sent
    )
    event.listen(engine, "connect", look_for_pooler)
    event.listen(engine, "begin", _act_for_all)
    event.listen(engine, "handle_error", leave_former_primary)
    return engine


_also: ContextVar[list[Executable] | None] = ContextVar("also", default=None)


@contextmanager
def also(statements: Sequence[Executable]) -> Iterator[Callable[[], bool]]:
    """Let the next ``writing`` in the block execute these too; the function returns whether that was committed."""
    left = [*statements]
    token = _also.set(left)
    try:
        yield lambda: not left
    finally:
        _also.reset(token)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open the transaction of a change, with what ``also`` adds to it."""
    left = _also.get()
    with engine.begin() as connection:
        yield connection
        for statement in left or ():
            connection.execute(statement)
    if left is not None:
        left.clear()


def connect_async(url: str, connections: int, wait_seconds: float) -> AsyncEngine:
    """Return the engine of an event loop: statements outside of ``BEGIN`` are autonomous, so one pool serves all
    requests.

    It connects when it is first used, and acts for no tenant. ``wait_seconds``: for a connection of the pool.
    """
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - workers need none of it

    engine = create_async_engine(
        with_driver(url),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=wait_seconds,
        pool_use_lifo=True,
        connect_args=CONNECT,
        json_deserializer=READ_JSON,
        hide_parameters=True,
        isolation_level="AUTOCOMMIT",
    )
    event.listen(engine.sync_engine, "connect", look_for_pooler)
    event.listen(engine.sync_engine, "handle_error", leave_former_primary)
    return engine


def _act_for_all(connection: Connection) -> None:
    if shares_sessions(connection.info):
        connection.exec_driver_sql("SELECT set_config('assay.tenant', '*', true)")


def look_for_pooler(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    """Find out whether what the connection was opened with has reached Postgres.

    A pooler like PgBouncer drops it (``ignore_startup_parameters = options``), and in its transaction mode two
    transactions of one connection may be in different sessions: nothing that a session keeps can be relied on. The
    settings are those of the service's role then (``migrations.roles``).
    """
    cursor = connection.cursor()
    cursor.execute("SELECT current_setting('assay.direct', true)")
    is_direct = cursor.fetchone() == ("on",)
    cursor.close()
    connection.rollback()
    record.info[_SHARED] = not is_direct
    if not is_direct:
        prepare_nothing(connection)  # a prepared statement is the session's


def prepare_nothing(connection: DBAPIConnection) -> None:
    """Let the driver prepare no more statements on this connection."""
    driver: Any = getattr(connection, "driver_connection", connection)
    driver.prepare_threshold = None


def shares_sessions(info: Mapping[Any, Any]) -> bool:
    """Return whether a connection with this ``info`` goes through a pooler."""
    return bool(info.get(_SHARED))


def leave_former_primary(context: ExceptionContext) -> None:
    """Close all connections to a server that refuses writes: it is no longer the primary, and the new one must be
    found.
    """
    if refuses_writes(context.original_exception):
        context.is_disconnect = True


def sqlstate_of(fault: BaseException) -> str:
    """Return the SQLSTATE of a driver's error, or of SQLAlchemy's around it; empty for a connection that broke."""
    return getattr(getattr(fault, "orig", None) or fault, "sqlstate", None) or ""


def reason_of(fault: BaseException) -> str:
    """Return an error's kind, SQLSTATE and the server's own words for a log, without what a tenant sent."""
    state, inner = sqlstate_of(fault), getattr(fault, "orig", None) or fault
    said = getattr(getattr(inner, "diag", None), "message_primary", None)
    if not state or not said or state.startswith(_OF_VALUES):
        return " ".join([type(fault).__name__, state]).strip()
    return f"{type(fault).__name__} {state}: {said}"


def refuses_writes(fault: BaseException) -> bool:
    return getattr(fault, "sqlstate", None) == _READ_ONLY


class _Pool(QueuePool):
    """A pool that also closes connections that are returned after ``dispose``, which closes only idle ones.

    A thread may use a connection, or be opening one, while its engine is disposed of: it would never be closed.
    """

    _disposed = False

    def dispose(self) -> None:
        self._disposed = True
        super().dispose()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        if self._disposed:  # checked after it was returned: the second of both threads closes it
            super().dispose()


def with_driver(url: str) -> str:
    """Return the URL with psycopg 3 as its driver, whatever its scheme (``postgres://`` too)."""
    parsed = make_url(url.replace("postgres://", "postgresql://", 1))
    return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
