"""What a revision needs that takes long, done beforehand while everything runs: each step a transaction of its own.

A revision runs in one transaction with all others: what it locks stays locked until the end of it. Whoever leaves
this out, as ``alembic upgrade`` does, has the same tables afterwards; the revision takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql

from migrations.partitions import BEFORE

Session = psycopg.Connection[tuple[object, ...]]
#: Held by a session; that of ``migrations.env`` is held by the transaction.
_LOCK = 0x41535342
_TRIES = 300
#: Until then the upgrade has to be over, or begun again: ids of jobs of later days are refused meanwhile.
_DAYS = 8


@contextmanager
def session(url: str) -> Iterator[Session]:
    """One at a time, until its upgrade is over: what is a plain table now must not become another one's meanwhile."""
    with psycopg.connect(url, connect_timeout=5, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET timezone = 'UTC'")
        # Asked for again and again: an index that is built meanwhile would wait for a statement that waits.
        while connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
            time.sleep(0.1)
        connection.execute("SET lock_timeout = '100ms'")
        yield connection


def has_plain_events(url: str) -> bool:
    """Whether ``events_looked_through`` has something to do."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        return _is_plain(connection)


@contextmanager
def events_looked_through(url: str) -> Iterator[None]:
    """Have it known that all rows of ``job_events`` are of jobs before a day, so that nobody has to read them again.

    The constraint that says so is taken away when the upgrade fails. Raises: psycopg.Error.
    """
    with session(url) as connection:
        if not _is_plain(connection):
            yield
            return
        try:
            _constrain(connection)
            yield
        except BaseException:
            _free(connection)
            raise


def _is_plain(connection: Session) -> bool:
    """Whether there is a table with rows that is not partitioned yet."""
    kind = connection.execute("SELECT relkind FROM pg_class WHERE oid = to_regclass('job_events')").fetchone()
    return kind == ("r",) and connection.execute("SELECT 1 FROM job_events LIMIT 1").fetchone() is not None


def _constrain(connection: Session) -> None:
    day, past = _bound(connection)
    if connection.execute("SELECT 1 FROM job_events WHERE job_id >= %s LIMIT 1", (past,)).fetchone() is not None:
        return  # ids that are no times: the revision puts them elsewhere
    _free(connection, keep=BEFORE + day)
    name = sql.Identifier(BEFORE + day)
    adding = sql.SQL("ALTER TABLE job_events ADD CONSTRAINT {} CHECK (job_id < {}) NOT VALID")
    with suppress(psycopg.errors.DuplicateObject):  # of an attempt that was killed today
        insist(connection, adding.format(name, sql.Literal(past)))
    # Reads all rows; everybody may write meanwhile.
    insist(connection, sql.SQL("ALTER TABLE job_events VALIDATE CONSTRAINT {}").format(name))


def _free(connection: Session, keep: str = "") -> None:
    """Take away what an attempt has left behind."""
    for name in set(_constraints(connection)) - {keep}:
        insist(connection, sql.SQL("ALTER TABLE job_events DROP CONSTRAINT IF EXISTS {}").format(sql.Identifier(name)))


def _constraints(connection: Session) -> list[str]:
    rows = connection.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass('job_events') AND starts_with(conname, %s)",
        (BEFORE,),
    )
    return [str(row[0]) for row in rows]


def _bound(connection: Session) -> tuple[str, str]:
    """The day, and the lowest id of a job that is submitted on it (see ``job_id_at``)."""
    row = connection.execute(
        "SELECT to_char(day AT TIME ZONE 'UTC', 'YYYYMMDD'),"
        " lpad(to_hex((extract(epoch FROM day) * 1000)::bigint), 12, '0')"
        " FROM (SELECT date_trunc('day', statement_timestamp(), 'UTC') + make_interval(days => %s) AS day) AS days",
        (_DAYS,),
    ).fetchone()
    if row is None:
        raise RuntimeError("Postgres does not tell the time")
    day, digits = str(row[0]), str(row[1])
    return day, f"{digits[:8]}-{digits[8:]}"


def insist(connection: Session, statement: sql.Composed | str) -> None:
    """Execute it as soon as nobody holds the table; each attempt waits briefly, and holds up nobody for longer."""
    for left in reversed(range(_TRIES)):
        try:
            connection.execute(statement.encode() if isinstance(statement, str) else statement)
        except psycopg.errors.LockNotAvailable:
            if not left:
                raise
            time.sleep(0.3)
        else:
            return
