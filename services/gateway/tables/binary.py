"""Arrow, Excel, SQLite and DuckDB."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.gateway.tables.cells import BATCH_ROWS, as_text, batches, plain
from services.gateway.tables.forms import CannotHold

#: Excel keeps 15 digits of a number; a longer whole number is text, so that none changes.
_MAX_EXACT = 10**15
_MAX_CELL_CHARS = 32_767
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LIKE_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  #: of ECMA-376's ST_Xstring: readers take it for a character
_FIRST_DAY = date(1900, 3, 1)  # Excel counts a 29 February 1900 that there never was
_ROWS_AT_ONCE = 5000

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


def write_xlsx(file: pq.ParquetFile, target: Path) -> None:
    """Write one sheet. Text stays text, even if it looks like a formula. Raises: CannotHold for too long a text."""
    from openpyxl import Workbook  # noqa: PLC0415 - a tenth of a second
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415

    book = Workbook(write_only=True)
    sheet = book.create_sheet("result")

    def cell(value: object) -> object:
        content = _excel_value(value)
        if isinstance(content, (datetime, time)) and content.microsecond:
            moment = WriteOnlyCell(sheet, "")
            moment.value = content
            moment.number_format = "hh:mm:ss.000" if isinstance(content, time) else "yyyy-mm-dd hh:mm:ss.000"
            return moment
        if not isinstance(content, str):
            return content
        if len(content) > _MAX_CELL_CHARS:
            raise CannotHold(f"a cell of Excel holds {_MAX_CELL_CHARS} characters, one of the table's has more")
        text = WriteOnlyCell(sheet, "")
        text.value = _LIKE_ESCAPE.sub("_x005F_", _NOT_IN_XML.sub("\ufffd", content)).replace("\r", "_x000D_")
        text.data_type = "s"
        return text

    sheet.append([cell(name) for name in file.schema_arrow.names])
    fine = _fine_columns(file)
    for batch in batches(file):
        texts = as_text(batch)
        kept = [_has_cells(field.type) and field.name not in fine for field in batch.schema]
        columns = [
            (own if keep else text).to_pylist()
            for own, text, keep in zip(batch.columns, texts.columns, kept, strict=True)
        ]
        for row in zip(*columns, strict=True):
            sheet.append([cell(value) for value in row])
    book.save(target)


def _fine_columns(file: pq.ParquetFile) -> set[str]:
    """Return the columns of times finer than milliseconds, which is what programs read of a workbook."""
    names = [
        field.name
        for field in file.schema_arrow
        if (pa.types.is_timestamp(field.type) or pa.types.is_time64(field.type)) and field.type.unit in ("us", "ns")
    ]
    fine = set()
    for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False) if names else ():
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            per_milli = 1000 if column.type.unit == "us" else 1_000_000
            ticks = column.cast(pa.int64())
            whole = pc.multiply(pc.divide(ticks, per_milli), per_milli)
            if pc.any(pc.not_equal(ticks, whole)).as_py():
                fine.add(name)
    return fine


def _has_cells(kind: pa.DataType) -> bool:
    """Return whether Excel has a type for it."""
    is_local = pa.types.is_timestamp(kind) and kind.tz is None
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return is_local or numeric or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_time(kind)


def _excel_value(value: object) -> object:
    """Return the value, or its text where Excel would change it."""
    match value:
        case bool() | None | time():
            exact = True
        case int():
            exact = abs(value) < _MAX_EXACT
        case Decimal():
            exact = len(value.as_tuple().digits) <= 15
        case float():
            exact = abs(value) < float("inf")
        case date():
            exact = (value.date() if isinstance(value, datetime) else value) >= _FIRST_DAY
        case _:
            exact = False
    return value if exact else value.isoformat() if isinstance(value, date) else str(value)


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
