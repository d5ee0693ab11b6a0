"""What the columns of a table hold: how many, which, between what, how they spread."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import duckdb

from services.gateway.tables.forms import CannotHold
from services.gateway.tables.opened import OpenedTable, batches, first, quoted
from services.gateway.tables.rows import shown_cell

_MAX_COLUMNS = 200
_BINS = 20
_FREQUENT = 5
#: Counting each value of a column with more of them takes as much memory as the column.
_MAX_COUNTED = 10_000
_NUMBERS = {"int", "float", "decimal"}
_ORDERED = {*_NUMBERS, "date", "datetime"}


def profile(database: duckdb.DuckDBPyConnection, table: OpenedTable, question: Mapping[str, Any]) -> dict[str, Any]:
    """Profile the table: one pass for the sums, and one for each column's values. Raises: CannotHold."""
    types = table.types
    names = list(types)[:_MAX_COLUMNS]
    try:
        [total] = first(database, "SELECT count(*) FROM rows")
        columns = [_column(database, name, types[name], total) for name in names]
    except duckdb.Error:
        raise CannotHold("this file is not a table from beginning to end, or too large to be described here") from None
    return {"row_count": total, "columns": columns, "more_columns": len(types) - len(names)}


def _column(database: duckdb.DuckDBPyConnection, name: str, type: str, total: int) -> dict[str, Any]:
    column = quoted(name)
    asked = ["count(*) - count({0})", "approx_count_distinct({0})"]
    if type in _ORDERED:
        asked += ["min({0})", "max({0})", "quantile_disc({0}, [0.25, 0.5, 0.75])"]
    if type in _NUMBERS:
        # Values that are not finite are left out of the mean.
        asked += ["avg(CASE WHEN isfinite(CAST({0} AS DOUBLE)) THEN CAST({0} AS DOUBLE) END)"]
    query = f"SELECT {', '.join(asked).format(column)} FROM rows"  # noqa: S608 - a quoted name
    nulls, distinct, *rest = first(database, query)
    distinct = min(distinct, total - nulls)  # which is estimated, and may come to more than there are
    known: dict[str, Any] = {"name": name, "type": type, "nulls": nulls, "distinct": distinct}
    if type in _ORDERED:
        known |= {"lowest": shown_cell(rest[0]), "highest": shown_cell(rest[1])}
        known["quartiles"] = None if rest[2] is None else [shown_cell(each) for each in rest[2]]
    if type in _NUMBERS:
        known |= {"mean": rest[3], "histogram": _histogram(database, column, rest[0], rest[1])}
    if distinct <= _MAX_COUNTED and type not in ("struct", "list"):
        known["frequent"] = _frequent(database, column)
    return known


def _histogram(
    database: duckdb.DuckDBPyConnection, column: str, low: float | Decimal | None, high: float | Decimal | None
) -> list[int] | None:
    """Return how many in each of equal parts; nothing where there is but one value, or one without an end."""
    if low is None or high is None or low == high or not float("-inf") < float(low) <= float(high) < float("inf"):
        return None
    width = (float(high) - float(low)) / _BINS
    place = f"least({_BINS - 1}, greatest(0, CAST(floor((CAST({column} AS DOUBLE) - ?) / ?) AS INTEGER)))"
    query = f"SELECT {place}, count(*) FROM rows WHERE {column} IS NOT NULL GROUP BY 1"  # noqa: S608 - a quoted name
    counted = dict(row for batch in batches(database, query, [float(low), width]) for row in batch)
    return [counted.get(number, 0) for number in range(_BINS)]


def _frequent(database: duckdb.DuckDBPyConnection, column: str) -> list[dict[str, Any]]:
    query = (
        f"SELECT {column}, count(*) FROM rows WHERE {column} IS NOT NULL "  # noqa: S608 - a quoted name
        f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_FREQUENT}"
    )
    return [
        {"value": shown_cell(value), "count": count} for batch in batches(database, query) for value, count in batch
    ]
