"""A second computation of the result, by the model, in another language: the strongest check that it can state."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import polars as pl

from services.execution.transform.order import gives_order, keys_of, sorts, speaks_of_order, wants_order
from services.execution.transform.replies import CHECK, fenced_blocks
from shared.amounts import amount
from shared.languages import LANGUAGES, language_of_word

_MAX_ROWS = 100_000  #: that are compared one by one; of more, each column is compared alone
_MAX_CELLS = 50_000_000
_CLOSE = 1e-9
_MIDNIGHT = re.compile(r"^(\d{4}-\d{2}-\d{2})[T ]00:00:00(?:\.0+)?$")

Cell = str | float | None | tuple["Cell", ...]
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Computation:
    """Code that has to give the rows of the result."""

    language: str
    code: str

    @property
    def text(self) -> str:
        """Return the check's name in the result."""
        return f"the same rows in {LANGUAGES[self.language].title}"


def computation_in(reply: str, language: str) -> Computation | None:
    """Return the last block that is tagged as a check in another language than the code's."""
    for block in reversed(fenced_blocks(reply)):
        row = language_of_word(block.tag)
        if CHECK in block.words and row is not None and row.transforms and row.name != language and block.text.strip():
            return Computation(row.name, block.text.strip("\n"))
    return None


def difference(  # noqa: PLR0911 - one answer for each way to differ
    result: pl.DataFrame, other: pl.DataFrame, code: str
) -> str | None:
    """Return how the rows differ, without any cell; ``None`` when they are the same.

    Columns are compared by position, rows in the order that the end of a query names, else in any.
    """
    if result.width != other.width:
        return f"it has {amount(other.width, 'column')}, the result has {result.width:,}"
    if result.height != other.height:
        return f"it has {amount(other.height, 'row')}, the result has {result.height:,}"
    if result.height > _MAX_ROWS:
        return _difference_of_many(*_flattened(result, other), code)
    ours, theirs = _rows(result), _rows(other)
    if _equal(ours, theirs):
        return None
    if not _equal(sorted(ours, key=_sort_key), sorted(theirs, key=_sort_key)):
        columns = [
            result.columns[at]
            for at in range(result.width)
            if not _equal(
                sorted(((row[at],) for row in ours), key=_sort_key),
                sorted(((row[at],) for row in theirs), key=_sort_key),
            )
        ]
        return f"other values in {', '.join(columns)}" if columns else "other combinations of the values"
    keys = keys_of(code, other.columns)
    if keys is None or _equal([_picked(row, keys) for row in ours], [_picked(row, keys) for row in theirs]):
        return None
    return "the rows are in another order"


def is_too_large(result: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Return whether two tables of one size are not compared."""
    if (result.height, result.width) != (other.height, other.width) or result.height <= _MAX_ROWS:
        return False
    return result.height * result.width > _MAX_CELLS or any(dtype.is_nested() for dtype in result.dtypes)


def _is_query(computation: Computation) -> bool:
    return LANGUAGES[computation.language].result == "query"


def has_open_order(
    result: pl.DataFrame, other: pl.DataFrame, first: Computation, second: Computation, task: str
) -> bool:
    """Return whether the task, or the code, sorts the rows, and the second computation of the same rows does not.

    Two tables in one order say nothing when neither was sorted: they may both have the order of the data.
    """
    if result.height < 2 or (_is_query(second) and keys_of(second.code, other.columns)):
        return False
    ordered = gives_order(second.code, second.language)
    same = _in_one_order(result, other)
    keys = keys_of(first.code, result.columns) if _is_query(first) and ordered else None
    if ordered and (same or (keys and _in_one_order(result[:, keys], other[:, keys]))):
        return False
    return wants_order(task) or sorts(first.code, first.language) or (speaks_of_order(task) and not same)


def _in_one_order(result: pl.DataFrame, other: pl.DataFrame) -> bool:
    if result.height <= _MAX_ROWS:
        return _equal(_rows(result), _rows(other))
    return _all_close(*_flattened(result, other))


def _all_close(result: pl.DataFrame, other: pl.DataFrame) -> bool:
    return all(_close(one, two) for one, two in zip(result, other, strict=True))


def _difference_of_many(result: pl.DataFrame, other: pl.DataFrame, code: str) -> str | None:
    """Return how the rows of two long tables differ, as ``difference`` does."""
    differing = [one.name for one, two in zip(result, other, strict=True) if not _close(one.sort(), two.sort())]
    if differing:
        return f"other values in {', '.join(differing)}"
    if not _all_close(_by_value(result), _by_value(other)):
        return "other combinations of the values"
    keys = list(keys_of(code, other.columns) or ())
    return None if _all_close(result[:, keys], other[:, keys]) else "the rows are in another order"


def _by_value(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted by their values, first without the last digits of floats."""
    floats = pl.selectors.float()
    near = frame.with_columns(floats.round_sig_figs(6)).rename(lambda name: f"near {name}")
    return pl.concat([frame, near], how="horizontal").sort([*near.columns, *frame.columns]).select(frame.columns)


def _close(one: pl.Series, two: pl.Series) -> bool:
    """Return whether two columns hold the same values in one order."""
    if not one.dtype.is_float() or not one.is_null().equals(two.is_null()):
        return one.equals(two, null_equal=True)
    close = ((one - two).abs() <= _CLOSE * one.abs() + 1e-12) | (one == two)
    return bool(close.all())


def _flattened(result: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both tables under the names of the first, each pair of columns with one type."""
    pairs = [_of_one_type(_flat(one), _flat(two).alias(one.name)) for one, two in zip(result, other, strict=True)]
    return pl.DataFrame([one for one, _ in pairs]), pl.DataFrame([two for _, two in pairs])


def _of_one_type(one: pl.Series, two: pl.Series) -> tuple[pl.Series, pl.Series]:
    if one.dtype == two.dtype:
        return one, two
    return one.cast(pl.String, strict=False), two.cast(pl.String, strict=False)


def _flat(column: pl.Series) -> pl.Series:
    """Return numbers as floats and moments in microseconds."""
    dtype = column.dtype
    if dtype == pl.Boolean or dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        moments = column.cast(pl.Datetime("us")) if dtype == pl.Date else column.dt.cast_time_unit("us")
        return moments.dt.replace_time_zone(None)
    if dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    return column.cast(pl.String, strict=False)


def _picked(row: Row, positions: Sequence[int]) -> Row:
    return tuple(row[at] for at in positions)


def _rows(frame: pl.DataFrame) -> list[Row]:
    return [tuple(_cell(value) for value in row) for row in frame.iter_rows()]


def _cell(value: object) -> Cell:  # noqa: PLR0911 - one answer for each kind of cell
    match value:
        case None:
            return None
        case bool() | int() | float() | Decimal():
            number = float(value)
            return None if math.isnan(number) else number
        case datetime() | date() | time():
            return _text(value.isoformat())
        case timedelta():
            return value.total_seconds()
        case pl.Series() | list() | tuple():
            return tuple(_cell(each) for each in value)
        case dict():
            return tuple(_cell(each) for each in value.values())
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    match = _MIDNIGHT.match(text)
    return match[1] if match is not None else text


def _sort_key(row: Row) -> tuple[tuple[int, str, float], ...]:
    """Return what rows are sorted by: the last digits of floats count only between rows that are else the same."""
    return *(_part(cell, digits=6) for cell in row), *(_part(cell, digits=17) for cell in row)


def _part(cell: Cell, digits: int) -> tuple[int, str, float]:
    match cell:
        case None:
            return 0, "", 0.0
        case float():
            return 1, "", float(f"{cell:.{digits}g}")
        case str():
            return 2, cell, 0.0
        case _:
            return 3, str(cell), 0.0


def _equal(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    return all(_same(one, two) for one, two in zip(ours, theirs, strict=True))


def _same(one: Cell, two: Cell) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_same(*pair) for pair in zip(one, two, strict=True))
    if isinstance(one, float) and isinstance(two, float):
        return one == two or math.isclose(one, two, rel_tol=_CLOSE, abs_tol=1e-12)
    return one == two
