"""Altered copies of a table: what code really computes from it comes out differently on one of them.

Each keeps types, column names and, as far as it can, the form of the values, so that code still runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import count

import polars as pl

Alteration = Callable[[pl.DataFrame], pl.DataFrame]

_DAY = re.compile(r"^(\d{4})-(\d{2}-\d{2}.*)$", re.DOTALL)
_YEARS = (1900, 2100)
#: Of a whole number's value, by its type; 62 of those that are not listed.
_BITS: Mapping[pl.DataType, int] = {
    pl.Int8(): 7,
    pl.UInt8(): 8,
    pl.Int16(): 15,
    pl.UInt16(): 16,
    pl.Int32(): 31,
    pl.UInt32(): 32,
}
_SHIFT = timedelta(days=1461)  #: four years: a 29 February stays one
#: Letters stay letters of their case and kind, digits digits; the mapping is one to one, so equal texts stay equal.
_OTHER_CHARACTERS = str.maketrans(
    "bcdfghjklmnpqrstvwxyzaeiouBCDFGHJKLMNPQRSTVWXYZAEIOU0123456789",
    "cdfghjklmnpqrstvwxyzbeiouaCDFGHJKLMNPQRSTVWXYZBEIOUA1032547698",
)


def other_values(frame: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Map every value, or those of the named columns, to another one; equal values stay equal, in all tables."""
    chosen = frame.columns if names is None else [name for name in names if name in frame.columns]
    return frame.with_columns([_other(frame[name]) for name in chosen])


def shuffled(frame: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Move every column, or the named ones, down by another number of rows."""
    if frame.height < 2:
        return frame
    rows = pl.int_range(pl.len())
    chosen = frame.columns if names is None else [name for name in names if name in frame.columns]
    return frame.with_columns(
        [
            pl.col(name).gather((rows - 1 - position % (frame.height - 1)) % pl.len())
            for position, name in enumerate(chosen)
        ]
    )


def fewer_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out every third row; repeat a single one."""
    if frame.height < 2:
        return pl.concat([frame, frame])
    return frame.filter(pl.int_range(pl.len()) % 3 != 1)


def repeated_rows(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame.head((frame.height + 1) // 2)])


def missing_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Empty every third cell of every column."""
    rows = pl.int_range(pl.len())
    return frame.with_columns(
        [pl.when((rows + position) % 3 != 0).then(pl.col(name)) for position, name in enumerate(frame.columns)]
    )


def negated(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn the sign of numbers, and the order of everything else."""
    columns = []
    for column in frame.iter_columns():
        signed = column.dtype.is_signed_integer() or column.dtype.is_float()
        columns.append((column * -1).cast(column.dtype) if signed else column.reverse())
    return pl.DataFrame(columns)


def another_column(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a column, which only code that lists the columns notices."""
    name = next(name for number in count(1) if (name := f"another_{number}") not in frame.columns)
    return frame.with_columns(pl.lit(7).alias(name))


def equal_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Give every row the first value of each column."""
    return frame.with_columns(pl.all().drop_nulls().first())


OF_SCHEMA = "another column"  #: the cells stay as they are
#: From what most code notices to what few results depend on: a later one runs only while a column stays the same.
ALTERATIONS: Mapping[str, Alteration] = {
    "other values": other_values,
    "shuffled": shuffled,
    "fewer rows": fewer_rows,
    "repeated rows": repeated_rows,
    "missing values": missing_values,
    "negated": negated,
    "equal values": equal_values,
    OF_SCHEMA: another_column,
}
#: These change how many rows there are, and leave the rows themselves alone.
OF_ROWS = frozenset({"fewer rows", "repeated rows"})


def _other(column: pl.Series) -> pl.Series:  # noqa: PLR0911 - one answer for each type
    dtype = column.dtype
    if dtype.is_integer():
        return _other_integers(column)
    if dtype.is_float() or dtype.is_decimal():
        return (column * 2 + 1).cast(dtype, strict=False)
    if dtype == pl.Boolean:
        return ~column
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return column + _SHIFT
    if isinstance(dtype, pl.Duration):
        return column * 2 + timedelta(seconds=1)
    if dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return _other_texts(column.cast(pl.String)).cast(pl.String if dtype == pl.String else pl.Categorical)
    return column.reverse()


def _other_integers(column: pl.Series) -> pl.Series:
    least, largest = column.min(), column.max()
    if not isinstance(least, int) or not isinstance(largest, int):
        return column
    if _YEARS[0] <= least and largest <= _YEARS[1]:
        return column + 1
    fits = 2 * max(abs(least), abs(largest)) + 1 < 2 ** _BITS.get(column.dtype, 62)
    return column * 2 + 1 if fits else column // 2


def _other_texts(column: pl.Series) -> pl.Series:
    distinct = column.drop_nulls().unique(maintain_order=True)
    if not distinct.len():
        return column
    other = pl.Series([_other_text(text) for text in distinct.to_list()], dtype=pl.String)
    return column.replace_strict(distinct, other, default=None)


def _other_text(text: str) -> str:
    if (day := _DAY.match(text)) is not None:
        return f"{int(day[1]) + 4:04d}-{day[2]}"
    other = text.translate(_OTHER_CHARACTERS)
    return other if other != text else f"{text}x"
