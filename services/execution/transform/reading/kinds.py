"""From text to types: a column becomes a number, date or truth value only when every cell of it reads so."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
_SAMPLE = 2000
_INT = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_COMMA_DECIMAL = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
_SPACE_THOUSANDS = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f\u2019]\d{3})+([.,]\d+)?")
_LEADING_ZERO = re.compile(r"[+-]?0\d.*")
_TRUTH = {"true", "false"}
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TYPED_START = "0123456789+-."
_MONTHS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
_DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%b %d %Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%B %d %Y",
    # Two digits of a year only beside a month's name: 01/02/03 could be anything.
    "%d-%b-%y",
    "%d %b %y",
)
_TIMES = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
_ZONED = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%dT%H:%M%#z")
_AMBIGUOUS = ({"%d/%m/%Y", "%m/%d/%Y"}, {"%d-%m-%Y", "%m-%d-%Y"})


@dataclass
class Reading:
    """What was decided about a column, for the preview."""

    note: str = ""
    missing: dict[str, int] = field(default_factory=dict)  #: spelling: how often


def infer(frame: pl.DataFrame, delimiter: str) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Type every column of a frame of text."""
    samples = {name: _sample(frame[name]) for name in frame.columns}
    comma_decimal = delimiter in ";\t|" and any(map(_has_comma_decimals, samples.values()))
    quick = _typed_at_once(frame, samples, comma_decimal)
    readings = {name: Reading() for name in frame.columns}
    columns = [
        quick[name] if name in quick else _typed(frame[name], samples[name], comma_decimal, readings[name])
        for name in frame.columns
    ]
    return pl.DataFrame(columns), readings


def _has_comma_decimals(sample: list[str]) -> bool:
    fits = all(_COMMA_DECIMAL.fullmatch(cell) or _FLOAT.fullmatch(cell) for cell in sample)
    return fits and any("," in cell for cell in sample)


def _typed_at_once(frame: pl.DataFrame, samples: Mapping[str, list[str]], comma_decimal: bool) -> dict[str, pl.Series]:
    """Columns without blanks, missing cells or other surprises, which are most: all of them in one parallel pass."""
    attempts: list[pl.Expr] = []
    doubts: list[pl.Expr] = []
    for name, sample in samples.items():
        attempt = _quick(name, sample, comma_decimal)
        if attempt is not None:
            typed, doubt = attempt
            attempts.append(typed)
            doubts.append(doubt.alias(name))
    if not attempts:
        return {}
    done, found = pl.collect_all([frame.lazy().select(attempts), frame.lazy().select(doubts)])
    doubtful = found.row(0, named=True)
    return {name: done[name] for name in done.columns if not done[name].null_count() and not doubtful[name]}


def _quick(  # noqa: PLR0911 - one answer for each kind
    name: str, sample: list[str], comma_decimal: bool
) -> tuple[pl.Expr, pl.Expr] | None:
    """How a plain column of this kind is typed, and when that is in doubt."""
    column = pl.col(name)
    zeros = (column.str.starts_with("0") & (column.str.len_bytes() > 1)).any()
    signs = (column.str.starts_with("+") | column.str.starts_with("-0")).any()
    if not sample or comma_decimal or any(_LEADING_ZERO.fullmatch(cell) for cell in sample):
        return None
    if all(_INT.fullmatch(cell) for cell in sample):
        return column.cast(pl.Int64, strict=False), zeros | signs
    if all(_FLOAT.fullmatch(cell) for cell in sample):
        risky = (column.str.starts_with("0") & ~column.str.starts_with("0.") & (column.str.len_bytes() > 1)).any()
        return column.cast(pl.Float64, strict=False), risky | column.str.starts_with("-0").any()
    if all(cell in ("true", "false", "True", "False", "TRUE", "FALSE") for cell in sample):
        return column.replace_strict(_TRUTHS, default=None, return_dtype=pl.Boolean), pl.lit(False)
    if all(_ISO_DATE.fullmatch(cell) for cell in sample):
        return column.str.to_date("%Y-%m-%d", strict=False, exact=True), pl.lit(False)
    if not any(cell[:1] in _TYPED_START or cell.lower()[:3] in _MONTHS or cell.lower() in _TRUTH for cell in sample):
        return column, column.is_in(MISSING).any()
    return None


def _sample(column: pl.Series) -> list[str]:
    """Cells that are not missing, from the beginning and spread over the rest."""
    step = max(1, column.len() // _SAMPLE)
    picked = pl.concat([column.head(_SAMPLE), column.gather_every(step)]) if step > 1 else column
    absent = {*MISSING, *MISSING_IN_NUMBERS}
    return [cell for cell in (text.strip() for text in picked.unique().to_list() if text) if cell not in absent]


def _typed(column: pl.Series, sample: list[str], comma_decimal: bool, reading: Reading) -> pl.Series:
    if sample:
        for attempt in (_truth, _number, _moment):
            typed = attempt(column, sample, comma_decimal, reading)
            if typed is not None:
                return typed
    absent = column.is_in(MISSING)
    if absent.any():
        _count_missing(column.filter(absent), reading)
        column = column.set(absent, None)
    if sample and any(_LEADING_ZERO.fullmatch(cell) and _INT.fullmatch(cell) for cell in sample):
        reading.note = reading.note or "kept as text: leading zeros"
    return column


def _cells(column: pl.Series, reading: Reading) -> pl.Series:
    """Without blanks around, and null where missing; the spellings are counted."""
    cells = column.str.strip_chars(" \t\u00a0") if _has_blanks(column) else column
    absent = cells.is_in([*MISSING, *MISSING_IN_NUMBERS])
    if absent.any():
        _count_missing(cells.filter(absent), reading)
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


def _count_missing(absent: pl.Series, reading: Reading) -> None:
    counts = absent.value_counts()
    reading.missing = {text: count for text, count in counts.iter_rows() if text}


def _truth(column: pl.Series, sample: list[str], comma_decimal: bool, reading: Reading) -> pl.Series | None:
    if not all(cell.lower() in _TRUTH for cell in sample):
        return None
    found = Reading()
    cells = _cells(column, found).str.to_lowercase()
    if not cells.drop_nulls().is_in(list(_TRUTH)).all():
        return None
    reading.missing = found.missing
    return cells == "true"


def _number(  # noqa: PLR0911 - leaves as soon as it is none
    column: pl.Series, sample: list[str], comma_decimal: bool, reading: Reading
) -> pl.Series | None:
    """A number without leading zeros; separators of thousands and a decimal comma are taken out."""
    if any(_LEADING_ZERO.fullmatch(cell) for cell in sample):
        return None
    found = Reading()
    if all(_INT.fullmatch(cell) for cell in sample):
        return _whole(column, sample, comma_decimal, reading)
    if all(_FLOAT.fullmatch(cell) for cell in sample) and not (comma_decimal and _all_points(sample)):
        return _parsed(_cells(column, found), found, reading)
    grouped = _grouping(sample, comma_decimal)
    if grouped is None:
        return None
    pattern, marks, decimal, note = grouped
    cells = _cells(column, found)
    fits = cells.drop_nulls()
    if not fits.str.contains(f"^(?:{pattern.pattern}|{_FLOAT.pattern})$").all():
        return None
    plain = cells
    for mark in marks:
        plain = plain.str.replace_all(mark, "", literal=True)
    if decimal == ",":
        plain = plain.str.replace(",", ".", literal=True)
    typed = _parsed(plain, found, reading)
    if typed is not None:
        reading.note = note
        whole = typed.cast(pl.Int64, strict=False)
        if "." not in "".join(sample).replace(".", "", 0 if decimal == "." else -1) and (whole == typed).all():
            return whole
    return typed


def _all_points(sample: list[str]) -> bool:
    """1.234 in a file with decimal commas is a thousand."""
    return any("." in cell for cell in sample) and all(
        _POINT_THOUSANDS.fullmatch(cell) or _INT.fullmatch(cell) for cell in sample
    )


def _grouping(sample: list[str], comma_decimal: bool) -> tuple[re.Pattern[str], str, str, str] | None:
    def fits(pattern: re.Pattern[str]) -> bool:
        return all(pattern.fullmatch(cell) or _FLOAT.fullmatch(cell) for cell in sample)

    if comma_decimal:
        pattern = re.compile(f"{_POINT_THOUSANDS.pattern}|{_COMMA_DECIMAL.pattern}")
        if fits(pattern):
            return pattern, ".", ",", "decimal comma"
    if fits(_COMMA_THOUSANDS):
        return _COMMA_THOUSANDS, ",", ".", "thousands separator ','"
    if fits(_SPACE_THOUSANDS):
        decimal = "," if any("," in cell for cell in sample) else "."
        return _SPACE_THOUSANDS, " '\u00a0\u202f\u2019", decimal, "thousands separators"
    return None


def _whole(column: pl.Series, sample: list[str], comma_decimal: bool, reading: Reading) -> pl.Series | None:
    found = Reading()
    typed: pl.Series | None
    try:
        typed, cells = column.cast(pl.Int64), column  # no missing cells, no blanks: the quick way
    except pl.exceptions.PolarsError:
        cells = _cells(column, found)
        typed = cells.cast(pl.Int64, strict=False)
        if typed.null_count() > cells.null_count():
            return _number_beyond(cells, found, reading)
    if _leading_zeros(cells) or cells.str.starts_with("+").any():
        return None
    reading.missing = found.missing
    return typed


def _number_beyond(cells: pl.Series, found: Reading, reading: Reading) -> pl.Series | None:
    """Whole at the sample, but not everywhere: a later cell has a fraction; too many digits stay text."""
    if cells.str.len_chars().max() > 18 and cells.str.contains(r"^[+-]?\d{19,}$").any():  # type: ignore[operator]
        reading.note = "kept as text: more digits than a number keeps"
        return None
    return _parsed(cells, found, reading)


def _leading_zeros(cells: pl.Series) -> bool:
    frame = pl.DataFrame({"c": cells})
    digits = pl.col("c").str.strip_chars_start("+-") if cells.str.starts_with("-").any() else pl.col("c")
    zero = digits.str.starts_with("0") & (digits.str.len_bytes() > 1) & ~digits.str.starts_with("0.")
    return bool(frame.select((zero & ~digits.str.starts_with("0e")).any()).item())


def _parsed(cells: pl.Series, found: Reading, reading: Reading) -> pl.Series | None:
    typed = cells.cast(pl.Float64, strict=False)
    if typed.null_count() > cells.null_count() or _leading_zeros(cells):
        return None
    reading.missing = found.missing
    return typed


def _moment(column: pl.Series, sample: list[str], comma_decimal: bool, reading: Reading) -> pl.Series | None:
    if not all(any(char.isdigit() for char in cell) and 6 <= len(cell) <= 40 for cell in sample):
        return None
    found = Reading()
    probe = pl.Series(sample[:200])
    for dates, convert in ((_DATES, _to_date), (_datetimes(), _to_datetime)):
        fitting = [shape for shape in dates if convert(probe, shape) is not None]
        if not fitting:
            continue
        cells = _cells(column, found)
        typed = {shape: whole for shape in fitting if (whole := convert(cells, shape)) is not None}
        if not typed:
            continue
        if _is_ambiguous(typed):
            reading.note = "kept as text: day and month could be either way round"
            return None
        shape, series = next(iter(typed.items()))
        reading.missing, reading.note = found.missing, "" if shape.startswith("%Y-%m-%d") else f"read as {shape}"
        return series
    return None


def _datetimes() -> tuple[str, ...]:
    plain = [f"{date}{gap}{time}" for date in _DATES for time in _TIMES for gap in (" ", "T")]
    return (*plain, *_ZONED)


def _is_ambiguous(typed: dict[str, pl.Series]) -> bool:
    """Both orders fit every cell, and they do not mean the same days."""
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
