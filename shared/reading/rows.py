"""The rows of a table's file, one after another as JSON objects, for readers that take records.

The file is read as for a data frame; but a column of text keeps its text unless the reader asks for types.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .columnar import framed, read_arrow
from .delimited import BadRow, read_delimited
from .html_tables import DELIMITER, table_of
from .large_text import PIECE_BYTES, to_parquet
from .names import usable_names
from .read import column_notes_of, kind_of, text_notes
from .source import Unreadable, decoded, is_plain, read_text
from .stated import Stated
from .type_inference import infer_some

_BATCH_ROWS = 1000
Row = dict[str, Any]


@dataclass(frozen=True)
class TableRows:
    """``rows`` are in the order of the file, and with them those that do not fit the header."""

    names: Sequence[str]
    rows: Iterator[Row | BadRow]
    notes: list[str] = field(default_factory=list)


def open_rows(path: Path, name: str, stated: Stated, is_typed: Callable[[str], bool]) -> TableRows:
    """``is_typed``: columns that are numbers, truth values or times wherever all their cells read so.

    Raises: Unreadable, also while the rows are read.
    """
    match kind_of(path, name, stated):
        case "parquet":
            return _of_parquet(path)
        case "arrow":
            return _of_frame(*read_arrow(path))
        case "excel":
            from .workbook import read_workbook

            book = read_workbook(path, stated, is_typed)
            return _of_frame(book.frame, [*book.notes, *_by_column(column_notes_of(book.columns))])
        case "csv":
            tabs = name.lower().endswith((".tsv", ".tab"))
            if path.stat().st_size > PIECE_BYTES and is_plain(path):
                return _of_large_text(path, tabs, stated, is_typed)
            return _of_text(path, tabs, stated, is_typed)
        case "html":
            return _of_html(path, stated, is_typed)
        case kind:
            raise Unreadable(f"the file is {kind}, not a table")


def _of_html(path: Path, stated: Stated, is_typed: Callable[[str], bool]) -> TableRows:
    text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
    content, own = table_of(text.content)
    cells, _, notes = read_delimited(content, stated=replace(stated, delimiter=DELIMITER))
    frame, readings = infer_some(cells, DELIMITER, is_typed, stated=stated)
    notes = [*text_notes(text.encoding), *[text.note] * bool(text.note), *own, *notes]
    return _of_frame(frame, [*notes, *_by_column(column_notes_of(readings))])


def _of_text(path: Path, tabs: bool, stated: Stated, is_typed: Callable[[str], bool]) -> TableRows:
    text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
    misfits: list[BadRow] = []
    cells, layout, notes = read_delimited(text.content, tabs, stated, misfits)
    frame, readings = infer_some(cells, layout.delimiter, is_typed, stated=stated)
    notes = [*text_notes(text.encoding, layout.delimiter), *[text.note] * bool(text.note), *notes]
    return _of_frame(frame, [*notes, *_by_column(column_notes_of(readings))], misfits)


def _of_large_text(path: Path, tabs: bool, stated: Stated, is_typed: Callable[[str], bool]) -> TableRows:
    """Convert to a Parquet file, and read that a few rows at a time."""
    misfits: list[BadRow] = []
    written = NamedTemporaryFile()  # noqa: SIM115 - it is read until the rows are
    with path.open("rb") as file:
        table = to_parquet(file, tabs, stated, Path(written.name), is_typed, misfits)
    rows = _of_parquet(Path(written.name))
    notes = [*text_notes(table.encoding, table.delimiter), *table.notes, *_by_column(column_notes_of(table.columns))]
    notes += rows.notes

    def until_closed() -> Iterator[Row | BadRow]:
        with written:
            yield from _with_misfits(rows.rows, misfits)

    return TableRows(rows.names, until_closed(), notes)


def _of_frame(frame: pl.DataFrame, notes: Sequence[str] = (), misfits: Sequence[BadRow] = ()) -> TableRows:
    lost = [column.name for column in frame.iter_columns() if column.dtype.is_float() and column.is_infinite().any()]
    own = [f"{name}: infinite numbers are read as missing" for name in lost]
    return TableRows(frame.columns, _with_misfits(json_rows(frame), misfits), [*notes, *own])


def _of_parquet(path: Path) -> TableRows:
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
        infinite = _infinite(file)
    except (pa.ArrowException, OSError, OverflowError):
        raise Unreadable("the Parquet file is damaged") from None
    names, notes = usable_names(names)

    def batches() -> Iterator[Row]:
        try:
            with file:
                for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                    if batch.num_rows:
                        yield from json_rows(framed(pa.Table.from_batches([batch])))
        except pa.ArrowMemoryError:
            raise MemoryError from None
        except (pa.ArrowException, OSError, OverflowError):
            raise Unreadable("the Parquet file is damaged") from None

    notes += [f"{name}: infinite numbers are read as missing" for name in infinite]
    return TableRows(names, batches(), notes)


def _infinite(file: pq.ParquetFile) -> list[str]:
    """Return the columns that hold infinite numbers: by the footer, or by their cells where it does not say."""
    meta = file.metadata
    floats = [
        number for number in range(meta.num_columns) if file.schema.column(number).physical_type in ("DOUBLE", "FLOAT")
    ]
    paths: dict[str, None] = {}
    for number in floats:
        chunks = [meta.row_group(group).column(number) for group in range(meta.num_row_groups)]
        spans = [each.statistics for each in chunks if each.statistics is not None and each.statistics.has_min_max]
        if any(math.isinf(span.min) or math.isinf(span.max) for span in spans):
            paths[file.schema.column(number).path] = None
        elif len(spans) < len(chunks):
            path = file.schema.column(number).path
            batches = file.iter_batches(batch_size=_BATCH_ROWS * 64, columns=[path], use_threads=False)
            if any(_holds_infinite(column) for batch in batches for column in batch.columns):
                paths[path] = None
    named = [name for name in file.schema_arrow.names if any(_is_within(path, name) for path in paths)]
    return list(dict.fromkeys(named))


def _is_within(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _holds_infinite(column: pa.Array) -> bool:
    """Return whether a cell, or a part of one, is infinite."""
    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.flatten()
    if pa.types.is_struct(column.type):
        return any(_holds_infinite(part) for part in column.flatten())
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def _by_column(notes: dict[str, str]) -> list[str]:
    return [f"{column}: {note}" for column, note in notes.items()]


def _with_misfits(rows: Iterator[Row | BadRow], misfits: Sequence[BadRow]) -> Iterator[Row | BadRow]:
    """Yield the rows, with those that do not fit at their places."""
    position = 0
    for misfit in misfits:
        while position < misfit.position and (row := next(rows, None)) is not None:
            yield row
            position += 1
        yield misfit
        position += 1
    yield from rows


def json_rows(frame: pl.DataFrame) -> Iterator[Row]:
    """Yield each row as JSON: times in ISO 8601, decimals as text, and null for numbers that JSON lacks."""
    columns = [_as_json(column) for column in frame.iter_columns()]
    nested = {column.name for column in columns if column.dtype.is_nested()}
    for row in pl.DataFrame(columns).iter_rows(named=True):
        yield {name: _value(cell) for name, cell in row.items()} if nested else row


def _as_json(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        zone = "%:z" if dtype.time_zone else ""
        return column.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{zone}")
    if dtype in (pl.Date, pl.Time, pl.Duration):
        return column.dt.to_string("iso")
    if dtype.is_float():
        finite = column.is_finite()
        return column.set(~finite, None) if not finite.all() else column
    if dtype == pl.Binary:
        texts = [None if cell is None else base64.b64encode(cell).decode() for cell in column]
        return pl.Series(column.name, texts, dtype=pl.String)
    is_plain_type = dtype.is_integer() or dtype in (pl.Boolean, pl.String, pl.Null) or dtype.is_nested()
    return column if is_plain_type else column.cast(pl.String)


def _value(cell: object) -> Any:
    """Return a cell of a nested column as JSON."""
    if isinstance(cell, list):
        return [_value(item) for item in cell]
    if isinstance(cell, dict):
        return {str(key): _value(item) for key, item in cell.items()}
    if isinstance(cell, float):
        return cell if abs(cell) < float("inf") else None
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode()
    if cell is None or isinstance(cell, (str, bool, int)):
        return cell
    formatted = getattr(cell, "isoformat", None)
    return str(formatted()) if formatted else str(cell)
