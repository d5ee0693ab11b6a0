"""Dates and moments: one format must fit every cell, and mean one thing only."""

from __future__ import annotations

import re

import polars as pl

from . import month_names
from .cells import ColumnReading, cells_of

#: Two digits of a year only together with a month's name: 01/02/03 could be anything.
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_MIN_LENGTH, _MAX_LENGTH = 6, 40
_TIMES = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
#: As web servers and mails write them.
_OF_SERVERS = ("%d/%b/%Y:%H:%M:%S %#z", "%d %b %Y %H:%M:%S %#z")
_COMMA_FRACTION = r"(:\d\d),(\d+)"
_WEEKDAY = r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), "
_NAMED_ZONE = r"(:\d\d(?:\.\d+)?) ?(?:UTC|GMT)$"
_ZONED = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%dT%H:%M%#z")
_SHORT_YEAR = re.compile(r"\d{1,2}([-./])\d{1,2}\1\d\d([ T].*)?")
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")
_ODD_MOMENT = re.compile(rf"{_COMMA_FRACTION}|{_NAMED_ZONE}|{_WEEKDAY}")
_AMBIGUOUS = ({"%d/%m/%Y", "%m/%d/%Y"}, {"%d-%m-%Y", "%m-%d-%Y"})


def moment(column: pl.Series, sample: list[str], comma_decimal: bool, reading: ColumnReading) -> pl.Series | None:
    reading.note = _why_text(column, sample) or reading.note
    if reading.note or not all(
        any(char.isdigit() for char in cell) and _MIN_LENGTH <= len(cell) <= _MAX_LENGTH for cell in sample
    ):
        return None
    tentative = ColumnReading()
    if any(_ODD_MOMENT.search(cell) for cell in sample):
        column = _usual(column)
    probe = _usual(pl.Series(sample[:200]))
    named = month_names.shape_of(sample)
    if named is not None:
        column, probe = month_names.in_digits(column, named), month_names.in_digits(probe, named)
    for dates, convert in ((_DATES, _to_date), (_datetimes(), _to_datetime)):
        fitting = [shape for shape in dates if convert(probe, shape) is not None]
        if not fitting:
            continue
        cells = cells_of(column, tentative)
        typed = {shape: whole for shape in fitting if (whole := convert(cells, shape)) is not None}
        if not typed:
            continue
        if _is_ambiguous(typed):
            reading.note = "kept as text: day and month could be either way round"
            return None
        shape, series = next(iter(typed.items()))
        reading.missing = tentative.missing
        reading.note = _note_on(shape) if named is None else month_names.NOTE
        return series
    return None


def _why_text(column: pl.Series, sample: list[str]) -> str:
    """Return a note on cells that resemble moments and are not certainly such; empty where they may be."""
    if all(_SHORT_YEAR.fullmatch(cell) for cell in sample):
        return "kept as text: years of two digits"
    if all(_TIME.fullmatch(cell) for cell in sample):
        return "kept as text: times of day, or spans of time"
    return "kept as text: times finer than microseconds" if _is_finer(column, sample) else ""


def _note_on(shape: str) -> str:
    return "" if shape.startswith("%Y-%m-%d") else f"read as {shape}"


def _usual(cells: pl.Series) -> pl.Series:
    """Return moments without a weekday, with a point before the fraction of a second, and UTC as an offset."""
    pointed = cells.str.replace(_WEEKDAY, "").str.replace(_COMMA_FRACTION, "${1}.${2}")
    return pointed.str.replace(_NAMED_ZONE, "${1} +00:00")


def _is_finer(column: pl.Series, sample: list[str]) -> bool:
    """Return whether a moment has more digits of a second than are kept."""
    if not any(":" in cell for cell in sample) or max(map(len, sample)) > _MAX_LENGTH:
        return False
    return bool(column.str.contains(r":\d\d[.,]\d{6}0*[1-9]").any())


def _datetimes() -> tuple[str, ...]:
    plain = [f"{date}{gap}{time}" for date in _DATES for time in _TIMES for gap in (" ", "T")]
    return (*plain, *_ZONED, *_OF_SERVERS)


def _is_ambiguous(typed: dict[str, pl.Series]) -> bool:
    """Return whether both orders fit every cell and do not mean the same days."""
    dates = {shape.split(" ")[0].split("T")[0]: series for shape, series in typed.items()}
    for pair in _AMBIGUOUS:
        if pair <= dates.keys():
            first, second = (dates[shape] for shape in sorted(pair))
            return not first.equals(second)
    return False


def _has_years(cells: pl.Series, shape: str) -> bool:
    """Polars takes ``03`` for ``%Y``, and makes it the year 3."""
    return "%Y" not in shape or bool(cells.str.contains(r"(^|\D)\d{4}(\D|$)").all())


def _to_date(cells: pl.Series, shape: str) -> pl.Series | None:
    if not _has_years(cells, shape):
        return None
    typed = cells.str.to_date(shape, strict=False, exact=True)
    return typed if typed.null_count() == cells.null_count() else None


def _to_datetime(cells: pl.Series, shape: str) -> pl.Series | None:
    if not _has_years(cells, shape):
        return None
    try:
        if "z" in shape:
            typed = cells.str.replace("Z$", "+00:00").str.to_datetime(shape, strict=False, exact=True, time_zone="UTC")
        else:
            typed = cells.str.to_datetime(shape, strict=False, exact=True, time_unit="us")
    except pl.exceptions.PolarsError:
        return None
    return typed if typed.null_count() == cells.null_count() else None
