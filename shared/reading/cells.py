"""Cells as they come: blanks, the many spellings of missing, and columns of which every cell is plainly of one kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from string import ascii_lowercase
from typing import Any, Literal

import polars as pl

from .month_names import begins_with_a_name

Kind = Literal["int", "float", "bool", "date", "text"]
#: Read as missing in every column; those of the second list only where the rest of the column holds numbers, dates or
#: the like.
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "None", "#N/A N/A", "-nan", "-NaN", "1.#QNAN",
)  # fmt: skip
MISSING_IN_NUMBERS = (
    "-", "--", ".", "?", "na", "none", "missing", "unknown", "nil", "NaT", "(null)", "n.a.", "N.A.", "k.A.", "k. A.",
    # Loggers, databases, offices of statistics; spreadsheets, where a formula failed; Stata's reasons for a gap.
    "NAN", "\\N",
    ":", "..", "...", "\u2013", "\u2014", "\u2026",
    "#DIV/0!", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#NAME?",
    *(f".{letter}" for letter in ascii_lowercase),
)  # fmt: skip
INT = re.compile(r"[+-]?\d+")
FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
CODE_LIKE = re.compile(r"\d+[eE]\d+")
LEADING_ZERO = re.compile(r"[+-]?0\d.*")
#: From here on two floats may be further apart than two whole numbers are.
LEAST_INEXACT = 1e15
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TALL = 50_000  #: rows
_TYPED_START = "0123456789+-."


@dataclass
class ColumnReading:
    """What was decided about a column, for the preview."""

    note: str = ""
    missing: dict[str, int] = field(default_factory=dict)  #: spelling: how often
    kept: dict[str, int] = field(default_factory=dict)  #: likewise, of cells that are values in this column
    is_text: bool = False  #: so that a missing cell may have been a value


def cells_of(column: pl.Series, reading: ColumnReading) -> pl.Series:
    """Return the cells without surrounding blanks, null where missing; count the spellings of missing ones."""
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
    reading.missing = {text: count for text, count in counted(absent) if text}


def counted(column: pl.Series) -> Iterator[tuple[Any, int]]:
    """Yield each value of the column and how often it is there; the column may have any name."""
    yield from column.alias("value").value_counts(name="times").iter_rows()


@dataclass(frozen=True)
class _Claim:
    """What a column seems to hold: how it is typed, and a fact about every cell that may refute it."""

    typed: pl.Expr
    fact: pl.Expr
    number: bool = False  #: the fact is the least cell as text: before "1" stand zeros, signs and blanks


def kind_of(sample: list[str]) -> Kind | None:
    """Return what these cells of a column have in common; ``None`` when that needs a closer look."""
    if not sample or any(LEADING_ZERO.fullmatch(cell) for cell in sample):
        return None
    if all(INT.fullmatch(cell) for cell in sample):
        return "int"
    if all(FLOAT.fullmatch(cell) for cell in sample):
        return None if may_be_codes(sample) else "float"
    if all(cell in _TRUE or cell in _FALSE for cell in sample):
        return "bool"
    if all(_ISO_DATE.fullmatch(cell) for cell in sample):
        return "date"
    beginnings = {cell.split(" ", 1)[0] or cell for cell in sample}  # many cells have the same
    return None if any(map(_looks_typed, beginnings)) else "text"


def may_be_codes(sample: Iterable[str]) -> bool:
    """Return whether cells such as 12E3 are codes: programs write a sign or a point with an exponent."""
    cells = list(sample)
    return any(CODE_LIKE.fullmatch(cell) for cell in cells) and not any("." in cell or "," in cell for cell in cells)


def _looks_typed(cell: str) -> bool:
    return cell[:1] in _TYPED_START or cell.lower() in ("true", "false") or begins_with_a_name(cell)


def typed_at_once(frame: pl.DataFrame, samples: Mapping[str, list[str]]) -> dict[str, pl.Series]:
    """Return the columns of text of which every cell is plainly of one kind."""
    claims = {name: claim for name, sample in samples.items() if (claim := _claim(name, sample)) is not None}
    if not claims:
        return {}
    casts = [claim.typed.alias(name) for name, claim in claims.items()]
    half = frame.height // 2
    halves = [frame[:half], frame[half:]] if half > _TALL else [frame]  # a cast takes one thread
    *cast, extremes = pl.collect_all(
        [
            *(each.lazy().select(casts) for each in halves),
            frame.lazy().select([claim.fact.alias(name) for name, claim in claims.items()]),
        ]
    )
    typed = pl.concat(cast)
    facts = extremes.row(0, named=True)
    early = [name for name, claim in claims.items() if claim.number and not facts[name] >= "1"]
    odd = _oddly_written(frame, {name: facts[name] for name in early})
    refuted = {name for name, claim in claims.items() if (name in odd if claim.number else facts[name])}
    return {name: typed[name] for name in claims if name not in refuted and _is_whole(typed[name])}


def may_be_inexact(column: pl.Series) -> bool:
    """Return whether a float of the column may have lost digits of the number in the file."""
    if not column.dtype.is_float():
        return False
    least, greatest = column.min(), column.max()
    return any(isinstance(each, float) and abs(each) >= LEAST_INEXACT for each in (least, greatest))


def _is_whole(column: pl.Series) -> bool:
    is_number = not (column.dtype.is_float() and column.is_nan().any())
    return not column.null_count() and is_number and not may_be_inexact(column)


def _oddly_written(frame: pl.DataFrame, least: Mapping[str, str]) -> set[str]:
    """Return the columns with numbers that lose something when they are typed; ``least`` is the least cell of each
    as text.
    """
    answers = frame.select([_is_odd(name, text).alias(name) for name, text in least.items()]) if least else None
    return set() if answers is None else {name for name, odd in answers.row(0, named=True).items() if odd}


def _is_odd(name: str, least: str) -> pl.Expr:
    """Return whether any cell has leading zeros or a plus."""
    cell = pl.col(name)
    odd = cell.str.starts_with("0") & (cell.str.len_bytes() > 1) & ~cell.str.starts_with("0.")
    if least < "0":  # there are signs, or blanks
        odd |= cell.str.starts_with("-0") & ~cell.str.starts_with("-0.") | cell.str.starts_with("+")
        odd |= cell.str.starts_with(" ")
    return odd.any()


def _claim(name: str, sample: list[str]) -> _Claim | None:
    column = pl.col(name)
    match kind_of(sample):
        case "int":
            return _Claim(column.cast(pl.Int64, strict=False), column.min(), number=True)
        case "float":
            return _Claim(column.cast(pl.Float64, strict=False), column.min(), number=True)
        case "bool":
            true, false = (_is_one_of(column, sample, spelled) for spelled in (_TRUE, _FALSE))
            return _Claim(true, ~(true | false).all())
        case "date":
            return _Claim(column.str.to_date("%Y-%m-%d", strict=False, exact=True, cache=False), pl.lit(False))
        case "text":
            return _Claim(column, column.is_in(MISSING).any())
        case None:
            return None


def _is_one_of(column: pl.Expr, sample: list[str], spelled: tuple[str, ...]) -> pl.Expr:
    return reduce(or_, [column == cell for cell in sample if cell in spelled], column.is_null())
