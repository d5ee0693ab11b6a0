"""What a task over the shop's tables has to give, computed by DuckDB: another engine than that of the code."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import duckdb

from benchmarks.transform_tasks.shop_tables import SHOP
from benchmarks.transform_tasks.task import Cells, Task


def task(name: str, text: str, tables: str, pandas: str, sql: str) -> Task:
    """A task over these tables (names with blanks between), whose rows have an order."""
    rows = {table: SHOP[table] for table in tables.split()}
    return Task(name, text, (), pandas, sql, partial(answer, tuple(rows), sql), rows=rows)


def answer(tables: tuple[str, ...], sql: str) -> Cells:
    with duckdb.connect(config={"threads": 1}) as database:
        for table in tables:
            columns = list(SHOP[table][0])
            values = ", ".join([f"({', '.join('?' * len(columns))})"] * len(SHOP[table]))
            given = [cell for row in SHOP[table] for cell in row.values()]
            database.execute(f"CREATE TABLE {table} AS SELECT * FROM (VALUES {values}) t({', '.join(columns)})", given)
        return [[_plain(cell) for cell in row] for row in database.execute(sql).fetchall()]


def _plain(cell: object) -> object:
    return float(cell) if isinstance(cell, Decimal) else cell
