"""What is different between the results of the same code on the data and on altered data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import polars as pl

_DIGITS = 10  #: of a float that count: sums in another order differ in the last ones
_MAX_ROWS = 50_000  #: of results whose rows are compared as wholes
_NEUTRAL = frozenset({"", "0", "false", "nan", "none", "null"})  #: as texts: what code gives that found nothing
_WORD = re.compile(r"[^\W_]+(?:\.\d+)?")


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with floats rounded and nested cells as text."""
    return pl.DataFrame([_comparable(column) for column in frame.iter_columns()]) if frame.width else frame


def _comparable(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        return column.round_sig_figs(_DIGITS).fill_nan(None)
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        cells = [None if cell is None else str(cell) for cell in column.to_list()]
        return pl.Series(column.name, cells, pl.String)
    return column


def changed(base: pl.DataFrame, other: pl.DataFrame, *, ordered: bool = True) -> set[str]:
    """Return the columns of ``base`` whose values differ in ``other``, or that are missing there.

    If the numbers of rows differ, the shares of the values are compared: a constant stays one.
    """
    if not other.height or not other.width:
        return set()
    return {column.name for column in base.iter_columns() if _differs(column, other, ordered)}


def _differs(column: pl.Series, other: pl.DataFrame, ordered: bool) -> bool:
    if column.name not in other.columns:
        return True
    after = other[column.name]
    if column.dtype != after.dtype:
        if column.dtype.is_numeric() and after.dtype.is_numeric():
            column, after = column.cast(pl.Float64), after.cast(pl.Float64)
        else:
            column, after = column.cast(pl.String, strict=False), after.cast(pl.String, strict=False)
    if column.len() == after.len():
        if ordered or column.equals(after, null_equal=True):
            return not column.equals(after, null_equal=True)
        return not column.sort().equals(after.sort(), null_equal=True)
    return _shares(column) != _shares(after)


def _shares(column: pl.Series) -> Mapping[object, float]:
    counts = Counter(column.to_list())
    return {value: round(count / column.len(), 6) for value, count in counts.items()}


def kept_rows(base: pl.DataFrame, other: pl.DataFrame) -> Counter[tuple[object, ...]]:
    """Count the rows that are in both results, as often as they are in both."""
    if base.columns != other.columns or max(base.height, other.height) > _MAX_ROWS:
        return Counter()
    return Counter(base.iter_rows()) & Counter(other.iter_rows())


class Literals:
    """What a caller may find in a result although no data gave it: words of the task, numbers in order, constants."""

    def __init__(self, task: str, names: Iterable[str] = ()) -> None:
        """``names``: of the data sets and their columns."""
        self._words = {*(word.lower() for word in _WORD.findall(task)), *(name.lower() for name in names)}
        self._task = task.lower()

    def in_task(self, column: pl.Series) -> bool:
        """Return whether every value is in the task, or a name in the data."""
        values = column.unique().to_list()
        return len(values) <= 1000 and all(self.is_neutral(value) or self._named(value) for value in values)

    def _named(self, value: object) -> bool:
        text = _plain(value).lower()
        return text in self._words or (len(text) >= 3 and text in self._task)

    @staticmethod
    def is_neutral(value: object) -> bool:
        return value is None or _plain(value).lower() in _NEUTRAL

    def only_neutral(self, column: pl.Series) -> bool:
        return all(self.is_neutral(value) for value in column.unique().head(10).to_list())

    def benign(self, column: pl.Series) -> bool:
        """Return whether it is a constant of several rows, an even sequence, or words of the task."""
        constant = column.len() > 1 and column.n_unique() == 1
        return constant or self.only_neutral(column) or self.in_task(column) or is_sequence(column)


def _plain(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def is_sequence(column: pl.Series) -> bool:
    """Return whether the values go up or down evenly: row numbers, years, days, months."""
    dtype = column.dtype
    if not (dtype.is_integer() or dtype.is_temporal()) or column.null_count() or column.len() < 2:
        return False
    steps = column.diff().drop_nulls()
    if dtype.is_integer():
        step = steps[0]
        return steps.n_unique() == 1 and step != 0 and (column.len() > 2 or abs(step) == 1)
    days = steps.dt.total_days()
    return bool(days.n_unique() == 1 or (days.is_between(28, 31).all() or days.is_between(365, 366).all()))
