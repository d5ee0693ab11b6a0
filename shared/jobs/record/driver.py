"""Statements that every job needs, handed to psycopg by ourselves: SQLAlchemy's part took a third of a worker's time.

What is used of SQLAlchemy is its pool, its compiler (once for each statement) and its exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Connection, Dialect, Engine, TextClause
from sqlalchemy.exc import DBAPIError

from shared.db import refuses_writes, shares_sessions
from shared.jobs.record.prepared import Statement

Values = Mapping[str, Any]
_Cursor = psycopg.Cursor[dict[str, Any]]
_Convert = Callable[[Any], Any]
#: A transaction of several jobs gives way where another one waits for it: each of its jobs is then written by itself.
_GIVE_WAY = "SELECT set_config('lock_timeout', '200ms', true)"


@dataclass(frozen=True)
class _Compiled:
    """A statement as psycopg takes it, and what makes its parameters what psycopg takes."""

    text: str
    converters: Mapping[str, _Convert]

    def values(self, statement: Statement) -> Values:
        given = statement.values
        return {**given, **{name: to(given[name]) for name, to in self.converters.items()}}


def first_row(engine: Engine, statement: Statement) -> Values | None:
    """Execute one statement; its first row by column, or None without one.

    Raises: DBAPIError, as ``Connection.execute`` does; a broken connection leaves the pool.
    """
    return next(iter(all_rows(engine, statement)), None)


def all_rows(engine: Engine, statement: Statement) -> Sequence[Values]:
    """Execute one statement; its rows by column. Raises: DBAPIError."""
    compiled = _compiled(engine.dialect, statement.prepared)
    with _cursor(engine, compiled.text) as (_, cursor):
        return cursor.execute(compiled.text, compiled.values(statement)).fetchall()


def first_rows(engine: Engine, statements: Sequence[Statement]) -> Sequence[Values | None]:
    """Execute one statement with several values, in a transaction and one round trip; the first row for each.

    Raises: DBAPIError, and nothing is written then: also where another transaction holds a row of it for long.
    """
    if len(statements) == 1:
        return [first_row(engine, statements[0])]
    compiled = _compiled(engine.dialect, statements[0].prepared)
    values = [compiled.values(each) for each in statements]
    with _cursor(engine, compiled.text) as (connection, cursor):
        if shares_sessions(connection.info):  # not every pooler knows pipelines
            with cursor.connection.transaction():
                cursor.execute(_GIVE_WAY)
                return [cursor.execute(compiled.text, each).fetchone() for each in values]
        with cursor.connection.pipeline(), cursor.connection.transaction():
            cursor.connection.execute(_GIVE_WAY)  # with a separate cursor: its row is not part of the result
            cursor.executemany(compiled.text, values, returning=True)
        return [each.fetchone() for each in cursor.results()]


@contextmanager
def _cursor(engine: Engine, text: str) -> Iterator[tuple[Connection, _Cursor]]:
    with engine.connect() as connection:
        driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
        try:
            with driver.cursor(row_factory=dict_row) as cursor:
                yield connection, cursor
        except psycopg.Error as fault:
            raise _as_sqlalchemy(connection, driver, text, fault) from fault


@lru_cache(maxsize=64)
def _compiled(dialect: Dialect, prepared: TextClause) -> _Compiled:
    types = {name: parameter.type for name, parameter in prepared.compile(dialect=dialect).binds.items()}
    converters = {name: type_.dialect_impl(dialect).bind_processor(dialect) for name, type_ in types.items()}
    used = {name: to for name, to in converters.items() if to is not None}
    return _Compiled(str(prepared.compile(dialect=dialect)), used)


def _as_sqlalchemy(
    connection: Connection, raw: psycopg.Connection[Any], text: str, fault: psycopg.Error
) -> BaseException:
    lost = raw.closed or raw.broken or refuses_writes(fault)
    if lost:
        connection.invalidate(fault)
    return DBAPIError.instance(
        text, None, fault, psycopg.Error, hide_parameters=True, connection_invalidated=lost, dialect=connection.dialect
    )
