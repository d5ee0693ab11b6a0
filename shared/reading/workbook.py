"""Excel: the first sheet that holds anything, with the names of its columns wherever they stand."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import fastexcel
import polars as pl
import pyarrow as pa

from .columnar import framed
from .delimited import check_names
from .header import find_header
from .source import Unreadable

_HEAD_ROWS = 60
_WHOLE = re.compile(r"^(-?\d+)\.0$")  #: a whole number, which a workbook keeps as a float
_NO_YEAR = 1899  #: of a cell that holds a time of day only: days are counted from 1900


def read_workbook(path: Path, wanted: str | None = None) -> tuple[pl.DataFrame, str, list[str], list[str]]:
    """The table, the sheet's name, the names of the other sheets that hold something, and notes on the header.

    Raises: Unreadable.
    """
    try:
        reader = fastexcel.read_excel(path)
        sheets = [name for name in reader.sheet_names if reader.load_sheet(name, header_row=None, n_rows=1).width]
        if not sheets:
            raise Unreadable("the workbook holds no cells")
        chosen = wanted or sheets[0]
        if chosen not in sheets:
            raise Unreadable(f"the workbook has no filled sheet {chosen!r}; it has {', '.join(map(repr, sheets[:20]))}")
        header = find_header(_first_rows(reader, chosen), may_merge=True)
        check_names(header.names)
        table = reader.load_sheet(
            chosen,
            header_row=None,
            skip_rows=header.first + header.rows,
            column_names=header.names,
            # Types from every row: a cell that does not fit one that was guessed would be lost.
            schema_sample_rows=None,
        ).to_arrow()
    except (fastexcel.FastExcelError, OSError) as error:
        raise Unreadable(f"the workbook cannot be read: {str(error).splitlines()[0][:200]}") from None
    except BaseException as error:  # a panic of the parser is not an Exception
        if isinstance(error, (Unreadable, KeyboardInterrupt, SystemExit)):
            raise
        raise Unreadable("the workbook is damaged") from None
    others = [name for name in sheets if name != chosen]
    return _whole_numbers(framed(_one_table(table))), chosen, others, header.notes


def _first_rows(reader: fastexcel.ExcelReader, sheet: str) -> list[list[str]]:
    """As they stand, each cell as text."""
    table = _one_table(reader.load_sheet(sheet, header_row=None, n_rows=_HEAD_ROWS).to_arrow())
    columns = [_as_texts(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _as_texts(column: pa.ChunkedArray) -> list[str]:
    return [
        "" if cell is None else cell.isoformat(" ") if isinstance(cell, datetime) else _WHOLE.sub(r"\1", str(cell))
        for cell in column.to_pylist()
    ]


def _one_table(table: pa.Table | pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """A workbook keeps every number as a float; whole ones are meant as such. Midnights are dates."""
    columns = []
    for column in frame.iter_columns():
        typed = column
        if column.dtype == pl.Float64 and column.drop_nulls().len():
            whole = column.cast(pl.Int64, strict=False)
            if (whole == column).all() and whole.null_count() == column.null_count():
                typed = whole
        elif isinstance(column.dtype, pl.Datetime) and column.drop_nulls().len():
            days = column.dt.truncate("1d")
            if (column.dt.year() == _NO_YEAR).all():
                typed = column.dt.to_string("%H:%M:%S")
            elif (days == column).all():
                typed = column.dt.date()
        columns.append(typed)
    return pl.DataFrame(columns)
