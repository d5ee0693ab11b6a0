"""A page of a table's rows: some columns, in an order, those that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import duckdb
import orjson
import pyarrow as pa
from pydantic import JsonValue

from services.gateway.tables.cells import infinity_as_text
from services.gateway.tables.forms import CannotHold
from services.gateway.tables.opened import OpenedTable, batches, first, quoted

_MAX_CHARS = 2000
_MAX_BYTES = 4_000_000
_MAX_COLUMNS = 300
_COMPARED = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_CONDITION = re.compile(r"(?s)(.+?):(eq|ne|lt|le|gt|ge|contains|null|not_null)(?::(.*))?")


def rows(database: duckdb.DuckDBPyConnection, table: OpenedTable, question: Mapping[str, Any]) -> dict[str, Any]:
    """``question``: columns, sort, filter, offset, limit as in the API. Raises: CannotHold, which names the field."""
    types = table.types
    names = [_known(name, types, "columns") for name in question["columns"]] or list(types)[:_MAX_COLUMNS]
    where, values = _where(question["filter"], types)
    try:
        [total] = first(database, f"SELECT count(*) FROM rows{where}", values)  # noqa: S608 - quoted names, values apart
        wanted = ", ".join(quoted(name) for name in names)
        order = _order(question["sort"], types)
        query = f"SELECT {wanted} FROM rows{where}{order} LIMIT ? OFFSET ?"  # noqa: S608 - quoted names, values apart
        page = _bounded(batches(database, query, [*values, question["limit"], question["offset"]]))
    except (duckdb.ConversionException, duckdb.BinderException):
        raise CannotHold("filter: a value does not fit its column's type") from None
    except duckdb.OutOfMemoryException:
        raise CannotHold("sort: the table is too large to be sorted here; fetch the file") from None
    except duckdb.Error:
        raise CannotHold("this file is not a table from beginning to end") from None
    end = question["offset"] + len(page)
    return {
        "columns": [{"name": name, "type": types[name]} for name in names],
        "rows": page,
        "row_count": total,
        "offset": question["offset"],
        "next_offset": end if page and end < total else None,
        "reading": asdict(table.reading),
        "notes": table.notes,
    }


def _where(conditions: Sequence[str], types: Mapping[str, str]) -> tuple[str, list[str]]:
    parts: list[str] = []
    values: list[str] = []
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None:
            raise CannotHold("filter: say COLUMN:eq:VALUE, with eq, ne, lt, le, gt, ge, contains, null or not_null")
        name, test, value = match.groups()
        column = quoted(_known(name, types, "filter"))
        if test in ("null", "not_null"):
            parts.append(f"{column} IS {'NOT ' if test == 'not_null' else ''}NULL")
        elif test == "contains":
            parts.append(f"contains(lower(CAST({column} AS VARCHAR)), lower(?))")
            values.append(value or "")
        else:
            # The value takes the column's type, so that 10 is more than 9.
            parts.append(f"{column} {_COMPARED[test]} ?")
            values.append(value or "")
    return (" WHERE " + " AND ".join(parts) if parts else ""), values


def _order(columns: Sequence[str], types: Mapping[str, str]) -> str:
    """``-name`` is falling, unless a column is called so."""
    parts = []
    for each in columns:
        falling = each.startswith("-") and each not in types
        name = _known(each[1:] if falling else each, types, "sort")
        parts.append(f"{quoted(name)} {'DESC' if falling else 'ASC'} NULLS LAST")
    return " ORDER BY " + ", ".join(parts) if parts else ""


def _known(name: str, types: Mapping[str, str], field: str) -> str:
    if name not in types:
        raise CannotHold(f"{field}: there is no column {name[:200]!r}")
    return name


def _bounded(read: Iterator[list[list[Any]]]) -> list[list[Any]]:
    """Return as many of the rows as an answer may hold, and at least the first."""
    page: list[list[Any]] = []
    size = 0
    for batch in read:
        for row in batch:
            cells = [shown_cell(cell) for cell in row]
            size += len(orjson.dumps(cells, default=str))
            if page and size > _MAX_BYTES:
                return page
            page.append(cells)
    return page


def shown_cell(cell: object) -> JsonValue:
    """Return a cell as JSON, shortened if it is long."""
    if isinstance(cell, str):
        return cell if len(cell) <= _MAX_CHARS else cell[:_MAX_CHARS] + "…"
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, float):
        return infinity_as_text(cell)
    if isinstance(cell, int):
        return cell if abs(cell) < 1 << 63 else str(cell)
    if isinstance(cell, list | dict):
        text = orjson.dumps(cell, default=str, option=orjson.OPT_NON_STR_KEYS)
        return orjson.loads(text) if len(text) <= _MAX_CHARS else text[:_MAX_CHARS].decode("utf-8", "ignore") + "…"
    return shown_cell(_words(cell))


def _words(cell: object) -> str:
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, pa.MonthDayNano):
        span = str(timedelta(days=cell.days, microseconds=cell.nanoseconds / 1000))
        return f"{cell.months} months, {span}" if cell.months else span
    return str(cell.isoformat()) if hasattr(cell, "isoformat") else str(cell)
