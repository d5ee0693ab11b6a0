"""An untrusted file as a table that DuckDB queries. Text and workbooks are read as every other part reads them.

Runs only in a process of its own, with limits and without secrets.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from services.gateway.tables.forms import CannotHold
from shared.reading.found import FoundReading
from shared.reading.large_text import PIECE_BYTES, to_parquet
from shared.reading.names import usable_names
from shared.reading.packed import unpacked
from shared.reading.read import TableRead, column_notes_of, kind_of, read, text_notes
from shared.reading.source import Unreadable, is_plain
from shared.reading.stated import Stated

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


@dataclass(frozen=True)
class OpenedTable:
    """The view ``rows``: its columns' types by name, and how its file was read."""

    types: dict[str, str]
    reading: FoundReading
    notes: list[str] = field(default_factory=list)


def open_table(
    database: duckdb.DuckDBPyConnection, file: Path, name: str = "", options: Mapping[str, Any] | None = None
) -> OpenedTable:
    """Create the view ``rows``. ``name``: the file's own; ``options``: how the caller states that it is written.

    A text table that is large becomes a temporary Parquet file. Raises: CannotHold when the file is not a table.
    """
    try:
        with unpacked(file, name) as (content, inner):
            target = Path(tempfile.gettempdir()) / f"read-{os.getpid()}.parquet"
            reading, notes = _create(database, content, inner, Stated.of(options or {}), target)
            database.execute("SET enable_external_access = false")
            described: list[tuple[Any, ...]] = database.execute("DESCRIBE rows").fetchall()
    except Unreadable as refusal:
        raise CannotHold(f"the file cannot be read as a table: {refusal}") from None
    except (duckdb.Error, pa.ArrowException, OSError, OverflowError):
        raise CannotHold("the file cannot be read as a table: it is damaged") from None
    return OpenedTable({name: type_name(kind) for name, kind, *_ in described}, reading, notes)


def _create(
    database: duckdb.DuckDBPyConnection, file: Path, name: str, stated: Stated, target: Path
) -> tuple[FoundReading, list[str]]:
    """Return how the file was read, and notes on it. Raises: Unreadable."""
    kind = kind_of(file, name, stated)
    if kind == "parquet":
        return FoundReading("parquet"), _view_parquet(database, file)
    if kind == "arrow":
        return FoundReading("arrow"), _view_arrow(database, file)
    if kind == "csv" and file.stat().st_size > PIECE_BYTES and is_plain(file):
        with file.open("rb") as content:
            table = to_parquet(content, name.lower().endswith((".tsv", ".tab")), stated, target)
        _view_parquet(database, target)
        columns, notes = column_notes_of(table.columns), text_notes(table.encoding, table.delimiter) + table.notes
        return table.found, [*notes, *_by_column(columns)]
    table_read: TableRead = read(file, name, stated)
    database.register("rows", table_read.frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return table_read.found, [*table_read.notes, *_by_column(table_read.columns)]


def _view_parquet(database: duckdb.DuckDBPyConnection, file: Path) -> list[str]:
    """Create the view of a Parquet file; return notes on its names. Raises: Unreadable."""
    with pq.ParquetFile(file) as content:
        names, notes = usable_names(content.schema_arrow.names)
    allowed = str(file).replace("'", "''")
    database.execute(f"SET allowed_paths = ['{allowed}']")
    named = f"({', '.join(map(quoted, names))})" if notes else ""
    database.execute(f"CREATE VIEW rows{named} AS SELECT * FROM read_parquet('{allowed}')")  # noqa: S608 - path is ours
    return notes


def _view_arrow(database: duckdb.DuckDBPyConnection, file: Path) -> list[str]:
    """Create the view of an Arrow file; return notes on its names. Raises: Unreadable."""
    with pa.memory_map(str(file)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        names, notes = usable_names(reader.schema.names)
        if is_file and not notes:
            import pyarrow.dataset as ds  # noqa: PLC0415 - a tenth of a second

            database.register("rows", ds.dataset(file, format="feather"))
        else:
            database.register("rows", reader.read_all().rename_columns(names))
    return notes


def _by_column(notes: Mapping[str, str]) -> list[str]:
    return [f"{column}: {note}" for column, note in notes.items()]


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
