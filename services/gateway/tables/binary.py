"""Arrow, SQLite and DuckDB."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from services.gateway.tables.cells import batches, plain
from services.gateway.tables.forms import CannotHold
from services.gateway.tables.sheets import write_xlsx

_PACKED_ROWS = 32_768  #: of a batch whose columns are packed each


def write_arrow(file: pq.ParquetFile, out: IO[bytes]) -> None:
    """Write the Arrow stream format, which readers can parse while it arrives."""
    with pa.ipc.new_stream(out, file.schema_arrow) as writer:
        for batch in batches(file):
            writer.write_batch(batch)


def write_feather(file: pq.ParquetFile, out: IO[bytes]) -> None:
    """Write the Arrow file format, which pandas, polars and R read as Feather."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(out, file.schema_arrow, options=options) as writer:
        for batch in batches(file, _PACKED_ROWS):
            writer.write_batch(batch)


def write_sqlite(file: pq.ParquetFile, target: Path) -> None:
    """Write one table, ``result``. Raises: CannotHold when two columns differ only by case, which SQLite cannot
    hold.
    """
    names = file.schema_arrow.names
    if len({name.lower() for name in names}) < len(names):
        raise CannotHold("two columns differ only by the case of their letters, which SQLite does not distinguish")
    database = sqlite3.connect(target)
    columns = ", ".join(
        f"{_quoted(name)} {_affinity(kind)}" for name, kind in zip(names, file.schema_arrow.types, strict=True)
    )
    database.execute(f"CREATE TABLE result ({columns})")
    marks = ", ".join("?" * len(names))
    for batch in batches(file):
        cells = [column.to_pylist() for column in plain(batch).columns]
        rows = zip(*cells, strict=True)
        database.executemany(f"INSERT INTO result VALUES ({marks})", rows)  # noqa: S608 - question marks
    database.commit()
    database.close()


def _quoted(name: str) -> str:
    if "\0" in name:
        raise CannotHold("SQLite has no columns whose name holds a zero byte")
    return '"' + name.replace('"', '""') + '"'


def _affinity(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


def write_duckdb(file: pq.ParquetFile, target: Path) -> None:
    """Write one table, ``result``, with its column types."""
    import duckdb  # noqa: PLC0415

    with duckdb.connect(str(target), config={"threads": 1, "memory_limit": "256MB"}) as database:
        rows = pa.RecordBatchReader.from_batches(file.schema_arrow, batches(file))
        database.register("rows", rows)
        database.execute("CREATE TABLE result AS SELECT * FROM rows")


STREAMED: dict[str, Callable[[pq.ParquetFile, IO[bytes]], None]] = {"arrow": write_arrow, "feather": write_feather}
WHOLE: dict[str, Callable[[pq.ParquetFile, Path], None]] = {
    "xlsx": write_xlsx,
    "sqlite": write_sqlite,
    "duckdb": write_duckdb,
}
