"""From text to types: a column becomes a number, date or truth value only when every cell of it reads so."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import polars as pl

from .cells import (
    CODE_LIKE,
    FLOAT,
    INT,
    LEADING_ZERO,
    LEAST_INEXACT,
    MISSING,
    MISSING_IN_NUMBERS,
    ColumnReading,
    cells_of,
    count_missing,
    counted,
    may_be_codes,
    may_be_inexact,
    typed_at_once,
)
from .dressed import PERCENTAGES, is_percentages, undressed
from .found import DECIMAL_COMMA
from .spellings import NOTHING, values_among_marks
from .stated import NOTHING_STATED, Stated
from .timestamps import moment

_SAMPLE = 2000
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_COMMA_DECIMAL = re.compile(r"[+-]?(\d{1,3}([. '\u00a0\u202f\u2019]\d{3})+|\d+),\d+")
_POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
_ADDRESS = re.compile(r"(2[0-4]\d|25[0-5]|1?\d?\d)(\.(2[0-4]\d|25[0-5]|1\d\d)){3}")
_POINT_THOUSANDS_ALONE = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_SPACE_THOUSANDS = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f\u2019]\d{3})+([.,]\d+)?")
#: With points between thousands, a minus or a zero behind the comma; 1,5 could be two answers.
_SURELY_DECIMAL = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d{1,2}|-\d+,\d{1,2}|[+-]?\d+,0\d?")
_TRUTH = {"true", "false"}
POINT_THOUSANDS = "thousands separator '.'"
_CODES = "kept as text: cells such as 12E3 may be codes"
_MAYBE_DECIMALS = "kept as text: if the commas are those of decimals, state the decimal sign ','"
_MAYBE_THOUSANDS = "read as decimals: if the points separate thousands, state the decimal sign ','"


def infer(
    frame: pl.DataFrame,
    delimiter: str,
    as_text: Iterable[str] = (),
    stated: Stated = NOTHING_STATED,
    values: Mapping[str, frozenset[str]] | None = None,
) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Type every column of text but those of ``as_text``; what is typed already stays as it is.

    ``values``: the marks for missing values that are values in a column, where that is decided already.
    """
    text = frame.select(pl.col(pl.String))
    readings = {name: ColumnReading() for name in frame.columns}
    stated_missing: dict[str, dict[str, int]] = {}
    if stated.na_values:
        text, stated_missing = _without(text, stated.marks)
    aside = _with_marks(text) if stated.are_marks_replaced else []
    typed = {name: text[name].replace("", None) for name in aside}
    text = text.drop(aside)
    as_text = [name for name in as_text if name not in aside]
    samples = {**_samples(text), **{name: [] for name in as_text}}  # nothing seen, nothing claimed
    written = text
    dressed = {name: made for name in text.columns if (made := undressed(text[name], samples[name])) is not None}
    if dressed:
        text = text.with_columns(bare.alias(name) for name, (bare, _, _) in dressed.items())
    samples |= {name: sample for name, (_, sample, _) in dressed.items()}
    comma_decimal = has_comma_decimals(delimiter, samples.values()) if stated.decimal is None else stated.decimal == ","
    quick = {} if comma_decimal else typed_at_once(text, samples)
    slow = {
        name: _typed(text[name], samples[name], comma_decimal, readings[name], values)
        for name in text.columns
        if name not in quick
    }
    if delimiter == ";" and stated.decimal is None:
        for name, column in {**quick, **slow}.items():
            if column.dtype.is_float() and not readings[name].note and may_be_thousands(samples[name]):
                readings[name].note = _MAYBE_THOUSANDS
    typed |= {**quick, **slow}
    for name, (_, _, note) in dressed.items():
        if typed[name].dtype.is_numeric():
            readings[name].note = "; ".join(filter(None, [note, readings[name].note]))
        else:
            typed[name] = written[name]
    for name, counts in stated_missing.items():
        readings[name].missing = {**readings[name].missing, **counts}
    # Not by with_columns, which copies all columns when one is in other pieces than the rest.
    return pl.DataFrame([typed.get(column.name, column) for column in frame.iter_columns()]), readings


def infer_some(
    frame: pl.DataFrame,
    delimiter: str,
    is_typed: Callable[[str], bool],
    as_text: Collection[str] = (),
    stated: Stated = NOTHING_STATED,
    values: Mapping[str, frozenset[str]] | None = None,
) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Type the columns that are to be typed; in the others every cell stays as it is written."""
    readings = {name: ColumnReading() for name in frame.columns}
    if stated.na_values:
        frame, absent = _without(frame, stated.marks)
        readings |= {name: ColumnReading(missing=counts) for name, counts in absent.items()}
    names = [name for name in frame.columns if is_typed(name)]
    if not names:
        return frame, readings
    typed, own = infer(frame.select(names), delimiter, [name for name in as_text if name in names], stated, values)
    for name, reading in own.items():
        reading.missing |= readings[name].missing
    return frame.with_columns(typed.iter_columns()), {**readings, **own}


def _with_marks(text: pl.DataFrame) -> list[str]:
    """Return the columns that hold a mark for a missing value which the caller has not stated: they are text."""
    marks = [*MISSING[1:], *MISSING_IN_NUMBERS]
    return [column.name for column in text.iter_columns() if column.str.strip_chars(" \t\u00a0").is_in(marks).any()]


def _without(text: pl.DataFrame, marks: Sequence[str]) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    """Empty the cells that hold one of the marks; also return how often each column had which."""
    examples: dict[str, dict[str, int]] = {}
    columns = []
    for column in text.iter_columns():
        cells = column.str.strip_chars(" \t\u00a0")
        absent = cells.is_in(list(marks))
        if absent.any():
            examples[column.name] = dict(counted(cells.filter(absent)))
        columns.append(column.set(absent, "") if absent.any() else column)
    return pl.DataFrame(columns), examples


def has_comma_decimals(delimiter: str, samples: Iterable[Collection[str]]) -> bool:
    """Return whether a column holds 1,5 and nothing but numbers; never where the comma is the delimiter."""
    return delimiter in ";\t| " and any(
        any("," in cell for cell in sample)
        and all(_COMMA_DECIMAL.fullmatch(cell) or FLOAT.fullmatch(cell) for cell in sample)
        for sample in samples
    )


def _samples(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return of each column distinct cells that are not missing, from the beginning and spread over the rest."""
    step = max(1, frame.height // _SAMPLE)
    picked = pl.concat([frame.head(_SAMPLE), frame.gather_every(step)]) if step > 1 else frame
    absent = {*MISSING, *MISSING_IN_NUMBERS}
    distinct = ((column.name, column.unique().to_list()) for column in picked.iter_columns())
    return {
        name: [cell for cell in (text.strip() for text in texts if text) if cell not in absent]
        for name, texts in distinct
    }


def _typed(
    column: pl.Series,
    sample: list[str],
    comma_decimal: bool,
    reading: ColumnReading,
    values: Mapping[str, frozenset[str]] | None,
) -> pl.Series:
    if may_be_codes(sample):
        reading.note = _CODES
    elif is_percentages(sample):
        reading.note = PERCENTAGES
    elif sample:
        for attempt in (_truth, _number, moment):
            typed = attempt(column, sample, comma_decimal, reading)
            if typed is not None:
                return typed
    absent = column.is_in(MISSING)
    if absent.any():
        name = column.name
        are_values = values_among_marks(name, column) if values is None else values.get(name, NOTHING)
        kept = column.is_in(list(are_values))
        reading.kept = dict(counted(column.filter(kept)))
        absent &= ~kept
        count_missing(column.filter(absent), reading)
        reading.is_text = bool(reading.missing)
        column = column.set(absent, None)
    if sample and any(LEADING_ZERO.fullmatch(cell) and INT.fullmatch(cell) for cell in sample):
        reading.note = reading.note or "kept as text: leading zeros"
    elif _are_decimals(sample):
        reading.note = reading.note or _MAYBE_DECIMALS
    return column


def _are_decimals(sample: Collection[str]) -> bool:
    return any("," in cell for cell in sample) and all(
        _COMMA_DECIMAL.fullmatch(cell) or INT.fullmatch(cell) for cell in sample
    )


def _truth(column: pl.Series, sample: list[str], comma_decimal: bool, reading: ColumnReading) -> pl.Series | None:
    if not all(cell.lower() in _TRUTH for cell in sample):
        return None
    tentative = ColumnReading()
    cells = cells_of(column, tentative).str.to_lowercase()
    if not cells.drop_nulls().is_in(list(_TRUTH)).all():
        return None
    reading.missing = tentative.missing
    return cells == "true"


def _number(  # noqa: PLR0911 - leaves as soon as it is none
    column: pl.Series, sample: list[str], comma_decimal: bool, reading: ColumnReading
) -> pl.Series | None:
    """Return the numbers of a column without leading zeros; separators of thousands and a decimal comma are taken
    out.
    """
    if any(LEADING_ZERO.fullmatch(cell) for cell in sample):
        return None
    tentative = ColumnReading()
    if all(INT.fullmatch(cell) for cell in sample):
        return _whole(column, sample, comma_decimal, reading)
    if all(FLOAT.fullmatch(cell) for cell in sample) and not (comma_decimal and may_be_thousands(sample)):
        return _parsed(cells_of(column, tentative), tentative, reading)
    grouped = _grouping(sample, comma_decimal)
    if grouped is None:
        return None
    pattern, other, marks, decimal, note = grouped
    cells = cells_of(column, tentative)
    fits = cells.drop_nulls()
    if not fits.str.contains(f"^(?:{pattern.pattern}|{other.pattern})$").all():
        return None
    plain = cells
    for mark in marks:
        plain = plain.str.replace_all(mark, "", literal=True)
    if decimal == ",":
        plain = plain.str.replace(",", ".", literal=True)
    typed = _parsed(plain, tentative, reading)
    if typed is not None:
        reading.note = note
        whole = typed.cast(pl.Int64, strict=False)
        if "." not in "".join(sample).replace(".", "", 0 if decimal == "." else -1) and (whole == typed).all():
            return whole
    return typed


def may_be_thousands(sample: Collection[str]) -> bool:
    """Return whether the points of all cells could separate thousands; in a file with decimal commas they do."""
    return any("." in cell for cell in sample) and all(
        _POINT_THOUSANDS.fullmatch(cell) or INT.fullmatch(cell) for cell in sample
    )


class _Grouping(NamedTuple):
    """How numbers are written that a float is not; a cell is written so, or as ``plain``."""

    pattern: re.Pattern[str]
    plain: re.Pattern[str]  #: no decimal point, where points separate thousands
    marks: str
    decimal: str
    note: str


def _grouping(sample: list[str], comma_decimal: bool) -> _Grouping | None:
    def fits(pattern: re.Pattern[str], plain: re.Pattern[str] = FLOAT) -> bool:
        return all(pattern.fullmatch(cell) or plain.fullmatch(cell) for cell in sample)

    # Where the comma is the delimiter, a sign of another kind has to show that it is a decimal one, too.
    has_blanks = any(_SPACE_THOUSANDS.fullmatch(cell) and "," in cell for cell in sample)
    if comma_decimal or has_blanks or any(map(_SURELY_DECIMAL.fullmatch, sample)):
        pattern = re.compile(f"{_POINT_THOUSANDS.pattern}|{_SPACE_THOUSANDS.pattern}|{_COMMA_DECIMAL.pattern}")
        if fits(pattern, INT) and not any("." in cell and " " in cell for cell in sample):
            return _Grouping(pattern, INT, ". '\u00a0\u202f\u2019", ",", DECIMAL_COMMA)
    if any(cell.count(".") > 1 for cell in sample) and _are_point_thousands(sample):
        return _Grouping(_POINT_THOUSANDS_ALONE, INT, ".", ",", POINT_THOUSANDS)
    if fits(_COMMA_THOUSANDS):
        return _Grouping(_COMMA_THOUSANDS, FLOAT, ",", ".", "thousands separator ','")
    if fits(_SPACE_THOUSANDS):
        decimal = "," if any("," in cell for cell in sample) else "."
        return _Grouping(_SPACE_THOUSANDS, FLOAT, " '\u00a0\u202f\u2019", decimal, "thousands separators")
    return None


def _are_point_thousands(sample: Collection[str]) -> bool:
    """Return whether all cells are whole numbers with points between thousands; addresses of networks look alike."""
    is_number = all(_POINT_THOUSANDS_ALONE.fullmatch(cell) or INT.fullmatch(cell) for cell in sample)
    return is_number and not all(_ADDRESS.fullmatch(cell) for cell in sample)


def _whole(column: pl.Series, sample: list[str], comma_decimal: bool, reading: ColumnReading) -> pl.Series | None:
    tentative = ColumnReading()
    typed: pl.Series | None
    try:
        typed, cells = column.cast(pl.Int64), column  # no missing cells, no blanks: the quick way
    except pl.exceptions.PolarsError:
        cells = cells_of(column, tentative)
        typed = cells.cast(pl.Int64, strict=False)
        if typed.null_count() > cells.null_count():
            return _number_beyond(cells, tentative, reading)
    if _leading_zeros(cells) or cells.str.starts_with("+").any():
        return None
    reading.missing = tentative.missing
    return typed


def _number_beyond(cells: pl.Series, tentative: ColumnReading, reading: ColumnReading) -> pl.Series | None:
    """Whole at the sample, but not everywhere: a later cell has a fraction; too many digits stay text."""
    if cells.str.len_chars().max() > 18 and cells.str.contains(r"^[+-]?\d{19,}$").any():  # type: ignore[operator]
        reading.note = "kept as text: more digits than a number keeps"
        return None
    if cells.str.contains(f"^{CODE_LIKE.pattern}$").any() and not cells.str.contains(".", literal=True).any():
        reading.note = _CODES
        return None
    return _parsed(cells, tentative, reading)


def _is_inexact(cells: pl.Series, typed: pl.Series) -> bool:
    """Return whether a whole part of 16 digits or more differs from its float, or a number is too large for one."""
    if (typed.is_infinite() & ~cells.str.contains("(?i)inf")).any():
        return True
    long = (typed.abs() >= LEAST_INEXACT) & cells.str.contains(r"^[+-]?\d{16,}(\.\d*)?$")
    pairs = zip(cells.filter(long).to_list(), typed.filter(long).to_list(), strict=True)
    return any(Decimal(text) != Decimal(repr(number)) for text, number in pairs)


def _leading_zeros(cells: pl.Series) -> bool:
    frame = pl.DataFrame({"c": cells})
    digits = pl.col("c").str.strip_chars_start("+-") if cells.str.starts_with("-").any() else pl.col("c")
    zero = digits.str.starts_with("0") & (digits.str.len_bytes() > 1) & ~digits.str.starts_with("0.")
    return bool(frame.select((zero & ~digits.str.starts_with("0e")).any()).item())


def _parsed(cells: pl.Series, tentative: ColumnReading, reading: ColumnReading) -> pl.Series | None:
    typed = cells.cast(pl.Float64, strict=False)
    if typed.null_count() > cells.null_count() or _leading_zeros(cells):
        return None
    if may_be_inexact(typed) and _is_inexact(cells, typed):
        reading.note = "kept as text: more digits than a number keeps"
        return None
    reading.missing = tentative.missing
    return typed
