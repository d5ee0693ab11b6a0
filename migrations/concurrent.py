"""Building an index while everybody reads and writes, reconcilers of the version before among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import psycopg

from migrations.online import Session
from shared.jobs.maintenance import LEADER_LOCK

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
#: The leader's transaction lasts as long as it leads, and its last prepared statement keeps a snapshot: an index that
#: is built concurrently waits for it without end. Another one leads a second later, and nothing else is in this one.
_STEP_ASIDE = """
    SELECT pg_terminate_backend(current_locker_pid::integer) FROM pg_stat_progress_create_index
    WHERE pid = %s AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = current_locker_pid AND l.locktype = 'advisory'
                                 AND l.classid::bigint = %s AND l.objid::bigint = %s AND l.objsubid = 1)
"""


def build(url: str, connection: Session, name: str, of: str) -> None:
    """Build a unique index; what an attempt that ended has left is of no use. Raises: psycopg.Error.

    Where the user that migrates may end no session of the reconciler's role, that one has to be stopped meanwhile.
    """
    found = connection.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)).fetchone()
    if found == (True,):
        return
    connection.execute("SET lock_timeout = 0")  # it waits for transactions, and nobody waits behind it
    if found is not None:
        connection.execute(f"DROP INDEX CONCURRENTLY {name}".encode())
    try:
        with _leaders_step_aside(url, connection.info.backend_pid):
            connection.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {of}".encode())
    except psycopg.errors.UndefinedTable:
        pass  # a day that was dropped meanwhile
    finally:
        connection.execute("SET lock_timeout = '100ms'")


@contextmanager
def _leaders_step_aside(url: str, builder: int) -> Iterator[None]:
    over = Event()
    keys = (builder, LEADER_LOCK >> 32, LEADER_LOCK & 0xFFFFFFFF)

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            try:
                with psycopg.connect(url, connect_timeout=5, autocommit=True) as own:
                    own.execute(_STEP_ASIDE, keys)
            except psycopg.Error as fault:
                log.warning("an index waits for the reconciler's transaction: stop it meanwhile (%s)", fault)

    beside = Thread(target=look)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()
