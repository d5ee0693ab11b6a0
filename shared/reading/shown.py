"""Formats of a workbook's cells that show a number as another text: ``00000`` for postcodes, percentages."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from .cells import ColumnReading
from .ods_formats import CONTENT, OdsFormats

_STYLES, _MAX_STYLES = "xl/styles.xml", 20_000_000
_CUSTOM = re.compile(rb'<numFmt\b(?=[^>]* numFmtId="(\d+)")(?=[^>]* formatCode="([^"]*)")')
_CELL_STYLES = re.compile(rb"<cellXfs\b.*?</cellXfs>", re.DOTALL)
_CELL_STYLE = re.compile(rb'<xf\b[^>]* numFmtId="(\d+)"')
_PERCENT = frozenset({9, 10})  #: built-in formats
_CELL = re.compile(rb'<c r="([A-Z]{1,3})(\d+)"(?: s="(\d+)")?[^>]*[^/]>')
_LITERAL = re.compile(r'\\(.)|"([^"]*)"|\[[^\]]*\]')
_PIECE, _KEPT, _MAX_SHEET_BYTES = 1 << 20, 200, 200_000_000


@dataclass
class Formats:
    """Of the columns of a sheet, by their place: how often which format is used below the names."""

    zeros: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    percent: Counter[int] = field(default_factory=Counter)


def formats_of(path: Path, sheet: str, place: int, above: int) -> Formats:
    """Return the formats of a sheet's cells below the rows ``above``; none where they cannot be read.

    ``sheet``: the part of an xlsx file; ``place``: the number of the sheet, from 0.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if CONTENT in archive.namelist():
                return _of_ods(archive, place, above)
            if _STYLES not in archive.namelist() or archive.getinfo(_STYLES).file_size > _MAX_STYLES:
                return Formats()
            styles = _styles(archive.read(_STYLES))
            return _of_cells(archive, sheet, above, styles) if styles else Formats()
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, zlib.error):
        return Formats()


def as_shown(frame: pl.DataFrame, formats: Formats) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Return whole numbers as texts with the zeros that the workbook shows, and notes on these and on percentages."""
    notes: dict[str, ColumnReading] = {}
    columns = []
    for place, column in enumerate(frame.iter_columns()):
        shown = formats.zeros.get(place, Counter())
        pattern = next(iter(shown), "")
        is_same = len(shown) == 1 and shown[pattern] >= column.count() and column.dtype.is_integer()
        if is_same and (column.min() or 0) >= 0:  # type: ignore[operator]
            notes[column.name] = ColumnReading(f"kept as text, as the workbook shows it: format {pattern}")
            columns.append(_padded(column, pattern))
            continue
        if shown:
            named = ", ".join(sorted(shown)[:3])
            notes[column.name] = ColumnReading(f"the numbers are read; the workbook shows some in the format {named}")
        elif formats.percent[place] and column.dtype.is_numeric():
            notes[column.name] = ColumnReading("the workbook shows percentages: 0.5 is 50 %")
        columns.append(column)
    return pl.DataFrame(columns), notes


def _padded(column: pl.Series, pattern: str) -> pl.Series:
    """Write the digits at the zeros of the pattern; those of a longer number are in front."""
    digits = column.cast(pl.String).str.zfill(pattern.count("0"))
    if set(pattern) == {"0"}:
        return digits
    parts, end = [], 0
    frame = digits.to_frame("d").select(pl.col("d").str.reverse())
    for mark in reversed(pattern):
        parts.append(pl.col("d").str.slice(end, 1) if mark == "0" else pl.lit(mark))
        end += mark == "0"
    shown = pl.concat_str([*parts, pl.col("d").str.slice(end)])
    return (
        frame.select(pl.when(pl.col("d").is_null()).then(None).otherwise(shown.str.reverse()))
        .to_series()
        .alias(column.name)
    )


def _styles(content: bytes) -> Mapping[bytes, str]:
    """Return the patterns of zeros, or ``%``, by the number of a cell's style."""
    codes = {int(number): _unescaped(code.decode(errors="replace")) for number, code in _CUSTOM.findall(content)}
    cells = _CELL_STYLES.search(content)
    numbers = [int(number) for number in _CELL_STYLE.findall(cells[0])] if cells else []
    shown = [_pattern(codes.get(number, "%" if number in _PERCENT else "")) for number in numbers]
    return {str(style).encode(): pattern for style, pattern in enumerate(shown) if pattern}


def _unescaped(code: str) -> str:
    return code.replace("&quot;", '"').replace("&amp;", "&")


def _pattern(code: str) -> str:
    """Return the zeros and the literal signs of a format that shows whole numbers so; ``%`` for a percentage."""
    positive = code.split(";", maxsplit=1)[0]
    pattern = _LITERAL.sub(lambda match: match[1] or match[2] or "", positive)
    if "%" in pattern:
        return "%"
    is_literal = re.fullmatch(r"[0\-/ ()A-Z]*", pattern) is not None
    return pattern if is_literal and pattern.count("0") > 1 else ""


def _of_cells(archive: zipfile.ZipFile, sheet: str, above: int, styles: Mapping[bytes, str]) -> Formats:
    by_column: dict[int, Counter[str]] = defaultdict(Counter)
    least = 1 << 20
    with archive.open(sheet) as content:
        kept = b""
        while (piece := content.read(_PIECE)) and content.tell() < _MAX_SHEET_BYTES:
            for match in _CELL.finditer(kept + piece):
                if match.end() <= len(kept):
                    continue
                column = _number(match[1])
                least = min(least, column)
                if match[3] in styles and int(match[2]) > above:
                    by_column[column][styles[match[3]]] += 1
            kept = piece[-_KEPT:]
    return _formats(by_column, least)


def _of_ods(archive: zipfile.ZipFile, place: int, above: int) -> Formats:
    read = OdsFormats(place, above)
    read.read(archive)
    return _formats(read.counts, read.least)


def _formats(by_column: Mapping[int, Counter[str]], least: int) -> Formats:
    """``least``: the first column that has a cell."""
    formats = Formats()
    for column, counts in by_column.items():
        formats.percent[column - least] = counts.pop("%", 0)
        formats.zeros[column - least] = counts
    return formats


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
