"""What is around the rows of a table: units below the names, remarks below the last row, rows of totals among them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

import polars as pl

from .cells import FLOAT, MISSING, MISSING_IN_NUMBERS
from .header import DATE

_UNITS = frozenset(
    "% ‰ °C °F K ° deg degC C F m cm mm km µm nm m2 m² m3 m³ ha km² l L ml mL g kg mg t s sec min h d ms hPa kPa Pa bar"  # noqa: SIM905
    " mbar psi m/s km/h kn V mV kV A mA W kW MW kWh MWh Wh J kJ N kN Hz kHz MHz ohm Ω S µS/cm mS/cm ppm ppb mg/l mg/L"
    " µg/m³ g/m³ W/m2 W/m² lux lx dB dBm pH - EUR € USD $ number count Mio. TEUR second seconds Volt Volts"
    " Ampere Amp Watt Hertz".split()
)
_IN_BRACKETS = re.compile(r"\[[^\[\]]{1,20}\]|\([^()\d]{1,20}\)")
_DATE_FORMAT = re.compile(r"(?=.*yy)[dmyhst.:/ -]{6,25}", re.IGNORECASE)
REMARK = re.compile(
    r"(source|note|remark|legend|as of|created|generated|exported|quelle|hinweis|anmerkung|stand|legende|erstellt|"
    r"fuente|nota|remarque)\w{0,3}\b|©|\(c\)|\*|[¹²³]",
    re.IGNORECASE,
)
_ROWS_OF_QUALTRICS, _IMPORT_ID = 2, '{"ImportId":'  #: the text of each question, and its id
#: How wide the columns are, and whether they hold strings, dates or numbers, in files of the U.S. Geological Survey.
_WIDTH = re.compile(r"\d{1,4}[sdn]")
_RULE = re.compile(r"[_=*-]{4,200}")
_TAIL, _MAX_REMARKS = 16_384, 40
_MIN_WIDE = 3  #: columns of a table that is no list of pairs
_TOTAL = (
    r"(?i)^(?:grand |sub-?|overall )?totals?\b|\btotals?$|^(?:zwischen|gesamt|end)summe|^(?:summe|gesamt|insgesamt)\b"
    r"|^sous-total"
)
_MAX_ROWS = 100_000


def rows_below(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[int, str]:
    """Return how many rows below the names are about the columns, and a note on them: units, or what Qualtrics asks."""
    if len(rows) > _ROWS_OF_QUALTRICS and rows[1] and all(cell.startswith(_IMPORT_ID) for cell in rows[1]):
        return (
            _ROWS_OF_QUALTRICS,
            "the questions and the import ids below the names, as Qualtrics writes them, left out",
        )
    if len(rows) > 1 and len(rows[0]) == len(names) > 1 and all(map(_WIDTH.fullmatch, rows[0])):
        return 1, "the row of widths below the names left out"
    units = _units_in(names, rows)
    return int(bool(units)), units


def _units_in(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a note on the units that the first row holds; empty where it is a row of the table.

    It has units or formats of dates alone, and only above numbers and dates.
    """
    if len(rows) < 3 or any(len(row) != len(names) for row in rows[:3]):
        return ""
    units = [cell.strip() for cell in rows[0]]
    below = list(zip(*(row for row in rows[1:] if len(row) == len(names)), strict=True))
    shown = [f"{name} {unit}" for name, unit in zip(names, units, strict=True) if unit]
    for unit, column in zip(units, below, strict=True):
        is_unit = unit in _UNITS or any(shape.fullmatch(unit) for shape in (_IN_BRACKETS, _DATE_FORMAT))
        if unit and not (is_unit and _are_values(column)):
            return ""
    return f"units below the names left out: {', '.join(shown[:20])}" if {*units} - {"", "-"} else ""


def _are_values(cells: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip() not in (*MISSING, *MISSING_IN_NUMBERS)]
    return bool(filled) and all(FLOAT.fullmatch(cell.replace(",", ".", 1)) or DATE.fullmatch(cell) for cell in filled)


def remarks_begin(content: bytes, delimiter: str, width: int) -> tuple[int, int] | None:
    """Return where the remarks below a table begin, in bytes, and how many lines they have; None without remarks.

    They are behind a blank line or a rule, at most 40 lines of one cell each, up to the end. With delimiters behind
    that cell the first of them has to begin as a remark does: it may be a row with missing cells. In a wider table they
    may also be pairs, such as the balance of an account and its amount.
    """
    lines = content[-_TAIL:].splitlines(keepends=True)
    if width < 2:
        return None
    size = count = begin = lines_of = 0
    upper: list[str] = []  #: the line below the one that is read
    is_remark = False
    for line in reversed(lines[1:] if len(content) > _TAIL else lines):
        text = line.decode(errors="replace").strip()
        if text.count('"') % 2 or count > _MAX_REMARKS:
            return None
        cells = [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter), [])]
        if any(cells[1:]) and not _is_pair(cells, width):
            break
        size += len(line)
        is_gap = not any(cells) or _RULE.fullmatch(text) is not None
        count += not is_gap
        if is_gap and count:
            begin, lines_of = size, count
            is_remark = (
                is_remark
                if not upper
                else len(upper) == 1 or _is_pair(upper, width) or REMARK.match(upper[0]) is not None
            )
        upper = [] if is_gap else cells
    else:
        return None
    return (len(content) - begin, lines_of) if is_remark and count == lines_of else None


def _is_remark(cells: Sequence[str], width: int) -> bool:
    return len(cells) == 1 or _is_pair(cells, width) or REMARK.match(cells[0]) is not None


def _is_pair(cells: Sequence[str], width: int) -> bool:
    """Return whether these cells are a text and a value, in a row that is not as wide as the table."""
    return len([cell for cell in cells if cell]) == 2 and all(cells[:2]) and len(cells) < width and width >= _MIN_WIDE


def note_on_remarks(count: int) -> str:
    return f"{count} line{'s' * (count > 1)} of remarks below the table left out"


def note_on_totals(frame: pl.DataFrame) -> list[str]:
    """Return a note on rows that repeat others as their sum; a table of more than 100,000 rows is not searched."""
    if frame.height > _MAX_ROWS or not any(dtype.is_numeric() for dtype in frame.dtypes):
        return []
    for column in frame.select(pl.col(pl.String)).iter_columns():
        totals = column.filter(column.str.contains(_TOTAL).fill_null(value=False))
        if 0 < len(totals) <= max(1, frame.height // 2):
            shown = ", ".join(str(cell)[:40] for cell in totals.unique(maintain_order=True).head(5))
            rows = "1 row seems to be a total" if len(totals) == 1 else f"{len(totals):,} rows seem to be totals"
            return [f"{rows} of others ({column.name}: {shown})"]
    return []
