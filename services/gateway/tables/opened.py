"""An untrusted file as a table that DuckDB reads: Parquet, Arrow (file or stream), CSV, JSON lines.

Runs only in a process of its own, with limits and without secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from services.gateway.tables.forms import CannotHold

_HEAD_BYTES = 1 << 16
_ROWS_AT_ONCE = 100
_MEGABYTES_OF_DUCKDB = 384
#: DuckDB's types by their first word, as the API names them.
_TYPES = {
    "BOOLEAN": "bool", "FLOAT": "float", "DOUBLE": "float", "DECIMAL": "decimal", "DATE": "date",
    "TIMESTAMP": "datetime", "INTERVAL": "duration", "STRUCT": "struct", "MAP": "struct", "UNION": "struct",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "int"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "int"),
}  # fmt: skip


def connect() -> duckdb.DuckDBPyConnection:
    """Connect to a database in memory, with one thread and without downloads of extensions."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{_MEGABYTES_OF_DUCKDB}MB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    database = duckdb.connect(config=config)
    database.execute("SET TimeZone = 'UTC'")
    return database


def open_table(database: duckdb.DuckDBPyConnection, file: Path) -> dict[str, str]:
    """Create the view ``rows`` and return its columns' types by name. Raises: CannotHold when the file is not a
    table.
    """
    try:
        _create(database, file)
        database.execute("SET enable_external_access = false")
        described: list[tuple[Any, ...]] = database.execute("DESCRIBE rows").fetchall()
    except (duckdb.Error, pa.ArrowInvalid, UnicodeDecodeError):
        raise CannotHold("this file is not a table in Parquet, Arrow, CSV or JSON lines") from None
    return {name: type_name(kind) for name, kind, *_ in described}


def _create(database: duckdb.DuckDBPyConnection, file: Path) -> None:
    with file.open("rb") as content:
        head = content.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        reader = "read_parquet"
    elif head.startswith(b"ARROW1"):
        import pyarrow.dataset as ds  # noqa: PLC0415 - a tenth of a second

        database.register("rows", ds.dataset(file, format="feather"))
        return
    elif head.startswith(b"\xff\xff\xff\xff"):
        with pa.memory_map(str(file)) as content:
            database.register("rows", pa.ipc.open_stream(content).read_all())
        return
    elif b"\x00" in head or not head.strip():
        raise CannotHold("this file is not a table in Parquet, Arrow, CSV or JSON lines")
    else:
        reader = "read_ndjson_auto" if head.lstrip().startswith(b"{") else "read_csv_auto"
    allowed = str(file).replace("'", "''")
    database.execute(f"SET allowed_paths = ['{allowed}']")
    database.execute(f"CREATE VIEW rows AS SELECT * FROM {reader}('{allowed}')")  # noqa: S608 - the path is ours


def type_name(kind: str) -> str:
    """Return a type of DuckDB as the API names it."""
    if kind.endswith("]"):
        return "list"
    return _TYPES.get(kind.partition("(")[0].partition(" ")[0], "string")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def batches(
    database: duckdb.DuckDBPyConnection, query: str, values: Sequence[object] = ()
) -> Iterator[list[list[Any]]]:
    """Yield the rows of an answer, a few at a time; by Arrow, which needs no further package for times with a zone."""
    for batch in database.sql(query, params=list(values)).to_arrow_reader(_ROWS_AT_ONCE):
        columns = [column.to_pylist() for column in batch.columns]
        yield [list(row) for row in zip(*columns, strict=True)]


def first(database: duckdb.DuckDBPyConnection, query: str, values: Sequence[object] = ()) -> list[Any]:
    """Return the only row of an answer."""
    return next(row for batch in batches(database, query, values) for row in batch)
