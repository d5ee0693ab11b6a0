"""Statements that every job needs, handed to psycopg by ourselves: SQLAlchemy's part took a third of a worker's time.

What is used of SQLAlchemy is its pool, its compiler (once for each statement) and its exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import psycopg
from sqlalchemy import Connection, Dialect, Engine, TextClause
from sqlalchemy.exc import DBAPIError

from shared.db import refuses_writes
from shared.jobs.statements import Statement

Values = Mapping[str, Any]
_Convert = Callable[[Any], Any]


def first_row(engine: Engine, statement: Statement) -> Values | None:
    """Execute one statement; its first row by column, or None without one.

    Raises: DBAPIError, as ``Connection.execute`` does; a broken connection leaves the pool.
    """
    text, converters = _compiled(engine.dialect, statement.prepared)
    values = {**statement.values, **{name: to(statement.values[name]) for name, to in converters.items()}}
    with engine.connect() as connection:
        raw = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
        try:
            with raw.cursor() as cursor:
                cursor.execute(text, values)
                row = cursor.fetchone()
                columns = cursor.description or ()
                return row if row is None else {column.name: value for column, value in zip(columns, row, strict=True)}
        except psycopg.Error as fault:
            raise _as_sqlalchemy(connection, raw, text, fault) from fault


@lru_cache(maxsize=64)
def _compiled(dialect: Dialect, prepared: TextClause) -> tuple[str, Mapping[str, _Convert]]:
    """The statement as psycopg takes it, and what makes its parameters what psycopg takes."""
    types = {name: parameter.type for name, parameter in prepared.compile(dialect=dialect).binds.items()}
    converters = {name: type_.dialect_impl(dialect).bind_processor(dialect) for name, type_ in types.items()}
    return str(prepared.compile(dialect=dialect)), {name: to for name, to in converters.items() if to is not None}


def _as_sqlalchemy(
    connection: Connection, raw: psycopg.Connection[Any], text: str, fault: psycopg.Error
) -> BaseException:
    lost = raw.closed or raw.broken or refuses_writes(fault)
    if lost:
        connection.invalidate(fault)
    return DBAPIError.instance(
        text, None, fault, psycopg.Error, hide_parameters=True, connection_invalidated=lost, dialect=connection.dialect
    )
