"""Cells as they come: blanks around them, and the many spellings of missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

#: Read as missing in every column, and, the second list, only where the rest of the column is no text.
MISSING = (
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NaN",
    "nan",
    "NULL",
    "null",
    "<NA>",
    "None",
    "#N/A N/A",
    "-nan",
    "-NaN",
    "1.#QNAN",
)
MISSING_IN_NUMBERS = ("-", "--", ".", "?", "na", "none", "missing", "unknown", "nil")
INT = re.compile(r"[+-]?\d+")
FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
LEADING_ZERO = re.compile(r"[+-]?0\d.*")


@dataclass
class ColumnReading:
    """What was decided about a column, for the preview."""

    note: str = ""
    missing: dict[str, int] = field(default_factory=dict)  #: spelling: how often


def cells_of(column: pl.Series, reading: ColumnReading) -> pl.Series:
    """Without blanks around, and null where missing; the spellings are counted."""
    cells = column.str.strip_chars(" \t\u00a0") if _has_blanks(column) else column
    absent = cells.is_in([*MISSING, *MISSING_IN_NUMBERS])
    if absent.any():
        count_missing(cells.filter(absent), reading)
        cells = cells.set(absent, None)
    return cells


def _has_blanks(column: pl.Series) -> bool:
    frame = pl.DataFrame({"c": column})
    blank = pl.any_horizontal(
        *(
            edge(mark)
            for mark in (" ", "\t", "\u00a0")
            for edge in (pl.col("c").str.starts_with, pl.col("c").str.ends_with)
        )
    )
    return bool(frame.select(blank.any()).item())


def count_missing(absent: pl.Series, reading: ColumnReading) -> None:
    counts = absent.value_counts()
    reading.missing = {text: count for text, count in counts.iter_rows() if text}
