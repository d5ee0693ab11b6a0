"""Dates with names of months, in common languages, as ISO 8601 texts. A name means one month in all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

_MONTHS = (
    "january jan januar jänner jän janvier janv enero ene gennaio gen janeiro januari января янв",
    "february feb februar feber février fevrier févr fév febrero febbraio fevereiro fev februari февраля фев",
    "march mar märz maerz mrz mär mars marzo março maart mrt marts марта мар",
    "april apr avril avr abril abr aprile апреля апр",
    "may mai mayo maggio mag maio mei maj мая май",
    "june jun juni juin junio giugno giu junho июня июн",
    "july jul juli juillet juil julio luglio lug julho июля июл",
    "august aug août aout agosto ago augustus augusti августа авг",
    "september sep sept septembre septiembre setiembre settembre set setembro сентября сен сент",
    "october oct oktober okt octobre octubre ottobre ott outubro out октября окт",
    "november nov novembre noviembre novembro ноября ноя нояб",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro desember des декабря дек",
)
_WEEKDAYS = (
    "monday mon montag lundi lunes lunedì segunda maandag",
    "tuesday tue dienstag mardi martes martedì terça dinsdag",
    "wednesday wed mittwoch mercredi miércoles mercoledì quarta woensdag",
    "thursday thu donnerstag jeudi jueves giovedì quinta donderdag",
    "friday fri freitag vendredi viernes venerdì sexta vrijdag",
    "saturday sat samstag sonnabend samedi sábado sabato zaterdag",
    "sunday sun sonntag dimanche domingo domenica zondag",
)
MONTHS = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
WEEKDAYS = {word: number for number, words in enumerate(_WEEKDAYS, 1) for word in words.split()}
NOTE = "read as dates with names of months"

_WORD = r"[^\W\d_]+"
_START = rf"^(?:(?P<weekday>{_WORD})(?:-feira)?\.?,? )?"
_MONTH = rf"(?P<month>{_WORD})\.?"
_DAY = r"(?P<day>\d{1,2})"
_BETWEEN = "(?: de | del | of |[ \u00a0]|[-./])"
_END = r"(?: г\.?)?(?:(?:,? | at | um | à )(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: [AaPp][Mm])?)(?: Uhr)?)?$"
_YEAR, _SHORT_YEAR = r"(?P<year>\d{4})", r"(?P<year>\d{2})"
#: Without a sign between, as Stata and SAS write them; in more languages these would often be codes, such as 12set24.
_AT_ONCE = rf"^(?P<weekday>\b)?{_DAY}(?P<month>(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
_DAY_FIRST = rf"{_START}{_DAY}(?:st|nd|rd|th|er|º|°)?\.?{_BETWEEN}{_MONTH}{_BETWEEN}"
_SHAPES = tuple(
    map(
        re.compile,
        (
            f"{_DAY_FIRST}{_YEAR}{_END}",
            f"{_DAY_FIRST}{_SHORT_YEAR}{_END}",
            f"{_AT_ONCE}{_YEAR}{_END}",
            f"{_AT_ONCE}{_SHORT_YEAR}{_END}",
            rf"{_START}{_MONTH} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_END}",
            f"^(?P<weekday>)?{_YEAR}[- ]{_MONTH}[- ]{_DAY}{_END}",
        ),
    )
)
_CENTURY_FROM = "69"  #: of years of two digits, as C and Python have it


def begins_with_a_name(cell: str) -> bool:
    """Return whether the first word is the name of a month or a weekday."""
    first = re.match(_WORD, cell)
    return first is not None and (first[0].lower() in MONTHS or first[0].lower() in WEEKDAYS)


def shape_of(sample: Sequence[str]) -> re.Pattern[str] | None:
    """Return the way in which all of these cells are written, if they are dates with names of months."""
    return next((each for each in _SHAPES if all(_fits(each, cell) for cell in sample)), None)


def _fits(shape: re.Pattern[str], cell: str) -> bool:
    match = shape.match(cell)
    return match is not None and match["month"].lower() in MONTHS


def in_digits(column: pl.Series, shape: re.Pattern[str]) -> pl.Series:
    """Return such cells as ``2024-03-05`` or ``2024-03-05 10:00``; others, and wrong weekdays, stay as they are."""
    parts = pl.col("cell").str.strip_chars(" \t\u00a0").str.extract_groups(shape.pattern).struct
    year, named = parts.field("year"), parts.field("weekday").fill_null("").str.to_lowercase()
    is_short = year.str.len_chars() < len("2024")
    century = pl.when(~is_short).then(pl.lit("")).when(year < _CENTURY_FROM).then(pl.lit("20")).otherwise(pl.lit("19"))
    month = parts.field("month").str.to_lowercase().replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
    date = pl.concat_str(
        century, year, pl.lit("-"), month.cast(pl.String).str.zfill(2), pl.lit("-"), parts.field("day").str.zfill(2)
    )
    weekday = named.replace_strict(WEEKDAYS, default=None, return_dtype=pl.Int64)
    agrees = (named == "") | (weekday == date.str.to_date("%Y-%m-%d", strict=False).dt.weekday())
    written = pl.concat_str(date, (pl.lit(" ") + parts.field("time")).fill_null(""))
    digits = pl.coalesce(pl.when(agrees).then(written), "cell")
    return pl.DataFrame({"cell": column}).select(digits.alias(column.name)).to_series()
