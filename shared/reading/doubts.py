"""Cells that may mean something else than they say: numbers for missing values, words among numbers, blanks around."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from .cells import FLOAT, LEADING_ZERO, counted

#: Numbers that programs write where they have no value: of surveys, weather stations, loggers and well logs.
_MARK = re.compile(r"-9|-?9{2,6}(\.0|\.9{1,4}|\.25)?|-(32768|2147483648)(\.0)?")
_TALL, _SAMPLE = 100_000, 1000
_BLANKS = " \t\u00a0"
_MIN_NUMBERS = 0.5  #: share of the cells
_NUMBER = rf"^(?:(?i:{FLOAT.pattern})|[+-]?\d{{1,3}}(?:[., '\u00a0\u202f\u2019]\d{{3}})*(?:[.,]\d+)?|[+-]?\d+,\d+)$"
_MAX_SHOWN = 3


def note_doubts(frame: pl.DataFrame, columns: dict[str, str]) -> None:
    """Add notes to those on the columns. Of a tall table a column is searched if a sample of it gives a reason."""
    step = frame.height // _SAMPLE if frame.height > _TALL else 1
    for column in frame.iter_columns():
        known = columns.get(column.name, "")
        if column.dtype.is_numeric():
            notes = _on_marks(column)
        elif column.dtype == pl.String:
            sample = column.gather_every(step) if step > 1 else column
            notes = _on_texts(sample, column, is_explained="kept as text" in known)
        else:
            continue
        if joined := "; ".join(filter(None, [known, *notes])):
            columns[column.name] = joined


def _on_marks(column: pl.Series) -> Iterator[str]:
    """Yield notes on the least and the greatest number, where they seem to stand for missing values."""
    least, greatest = column.min(), column.max()
    for value, is_least in ((least, True), (greatest, False)):
        if not isinstance(value, (int, float)) or least == greatest or not _MARK.fullmatch(str(value)):
            continue
        others = column.filter(column != value)
        low, high = others.min(), others.max()
        assert isinstance(low, (int, float))
        assert isinstance(high, (int, float))
        times = column.len() - column.null_count() - others.len() + others.null_count()
        is_far = (low - value if is_least else value - high) > high - low
        is_one = (is_far and len(str(value).strip("-")) > 1) if is_least and value < 0 else is_far and times > 1
        if is_one or (is_least and value < 0 <= low and times > 1):
            yield f"{str(value).removesuffix('.0')} x {times:,} may mean a missing value: if so, state it in na_values"


def _on_texts(sample: pl.Series, column: pl.Series, *, is_explained: bool) -> Iterator[str]:
    if _around(sample).any() and (times := int(_around(column).sum())):
        yield f"{times:,} cell{'s begin or end' if times > 1 else ' begins or ends'} with a blank, kept as written"
    if is_explained or not _are_mostly_numbers(sample):
        return
    cells = column.drop_nulls()
    cells = cells.filter(cells != "")
    odd = cells.filter(~cells.str.strip_chars(_BLANKS).str.contains(_NUMBER))
    if odd.len() and odd.len() <= cells.len() * (1 - _MIN_NUMBERS):
        most = sorted(counted(odd), key=lambda pair: (-pair[1], pair[0]))
        shown = ", ".join(f"{text[:20]!r} x {times:,}" for text, times in most[:_MAX_SHOWN])
        yield (
            f"kept as text: most cells hold a number, but not {shown}{' ...' * (len(most) > _MAX_SHOWN)}; "
            "if these mean a missing value, state na_values"
        )


def _around(column: pl.Series) -> pl.Series:
    return (column != column.str.strip_chars(_BLANKS)).fill_null(value=False)


def _are_mostly_numbers(sample: pl.Series) -> bool:
    """Return whether most cells are numbers, of which none has leading zeros, as codes do."""
    cells = sample.drop_nulls().str.strip_chars(_BLANKS)
    cells = cells.filter(cells != "")
    numbers = cells.filter(cells.str.contains(_NUMBER))
    are_codes = numbers.str.contains(f"^{LEADING_ZERO.pattern}$").any()
    return bool(numbers.len()) and numbers.len() >= cells.len() * _MIN_NUMBERS and not are_codes
