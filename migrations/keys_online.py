"""What revision 0057 needs that takes long, done beforehand while everything runs: columns filled, indexes, references.

Each step is a statement of its own, and is passed over when an attempt of before has done it. Whoever leaves this out,
as ``alembic upgrade`` does, has the same tables afterwards; the revision does it all, and everybody waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from migrations import keys
from migrations.concurrent import build
from migrations.online import Session, insist, session

#: What the revision is made for; of an older one it does everything itself, in one transaction with the others.
_BEFORE = "0056"
#: Of a table, in one transaction: 8 kB each.
_PAGES = 64
#: Times that all rows are looked through for those that somebody held; the revision fills what is left.
_TRIES = 10


def is_awaited(url: str) -> bool:
    """Whether ``keys_prepared`` has something to do."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        return _is_awaited(connection)


@contextmanager
def keys_prepared(url: str) -> Iterator[None]:
    """Have everything there that the revision puts into its place. Raises: psycopg.Error."""
    with session(url) as connection:
        if _is_awaited(connection):
            for parent in sorted({child.parent for child in keys.CHILDREN.values()}):
                connection.execute(keys.filling(parent).encode())
            for table, child in keys.CHILDREN.items():
                _prepare(connection, table, child)
            for name, of in keys.unique_indexes().items():
                build(url, connection, name, of)
            for partition in _partitions(connection):
                build(url, connection, keys.new_index(partition), f"{partition} ({keys.columns(keys.EVENT_KEY)})")
            for reference in keys.REFERENCES:
                _refer(connection, reference)
        yield


def _is_awaited(connection: Session) -> bool:
    if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return False
    return connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(_BEFORE,)]


def _prepare(connection: Session, table: str, child: keys.Child) -> None:
    """The column, and the tenant in all rows, which the version before goes on to write without one."""
    insist(connection, keys.ADD_COLUMN.format(table))
    exists = "SELECT 1 FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = %s"
    if connection.execute(exists, (table, keys.TRIGGER)).fetchone() is None:
        insist(connection, keys.trigger(table))
    for part in _partitions(connection) if table == "job_events" else [table]:
        try:
            _fill(connection, part, child)
        except psycopg.errors.UndefinedTable:
            continue  # a day that was dropped meanwhile


def _fill(connection: Session, table: str, child: keys.Child) -> None:
    for _ in range(_TRIES):
        if connection.execute(keys.unfilled(table, child).encode()).fetchone() is None:
            return
        row = connection.execute("SELECT pg_relation_size(%s) / 8192", (table,)).fetchone()
        for first in range(0, int(str(row[0])) if row else 0, _PAGES):
            pages = f"ctid >= '({first},0)' AND ctid < '({first + _PAGES},0)'"
            connection.execute(keys.fill(table, child, pages).encode())


def _partitions(connection: Session) -> list[str]:
    return [str(row[0]) for row in connection.execute(keys.PARTITIONS)]


def _refer(connection: Session, reference: keys.Reference) -> None:
    known = "SELECT convalidated FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s"
    found = connection.execute(known, (reference.table, reference.name)).fetchone()
    if found is None:
        insist(connection, keys.add_reference(reference) + " NOT VALID")
    if found != (True,):
        insist(connection, f"ALTER TABLE {reference.table} VALIDATE CONSTRAINT {reference.name}")
