"""Excel: the first sheet that holds anything, with the names of its columns wherever they are."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import fastexcel
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from .cells import FLOAT, MISSING, MISSING_IN_NUMBERS, ColumnReading, counted
from .columnar import framed
from .found import FoundReading
from .header import Header, find_header, no_header
from .names import usable_names
from .shown import as_shown, formats_of
from .source import OLE, Unreadable
from .stated import NOTHING_STATED, Stated
from .surroundings import REMARK, rows_below
from .type_inference import infer_some

_HEAD_ROWS = 60
#: How a text below a table begins.
_MIN_WIDTH, _MAX_GAPS, _MAX_REMARKS = 2, 20, 10
_NUMBER = r"^-?(?:0|[1-9]\d*)(?:[.,]\d+)?$"
_SHEET = re.compile(r"xl/worksheets/sheet\d+\.xml")
_NO_VALUE = re.compile(rb"</f>(?:<v\s*/>|<v></v>)?</c>")
_ERROR = re.compile(rb' t="e"')
_MERGED = re.compile(rb'<mergeCell ref="[A-Z]+(\d+):[A-Z]+(\d+)"')
_PIECE, _MARK_BYTES, _MAX_SHEET_BYTES = 1 << 20, 48, 200_000_000
_WHOLE = re.compile(r"^(-?\d+)\.0$")  #: a whole number, which a workbook keeps as a float
_SPAN = r"^(1899-12-31|1900-0[12]-\d\d)[ T]\d\d:\d\d:\d\d"
_NO_YEAR = 1899  #: of a cell that holds a time of day only: days are counted from 1900


@dataclass(frozen=True)
class Workbook:
    """What was read of a workbook, and how."""

    frame: pl.DataFrame
    found: FoundReading
    notes: list[str] = field(default_factory=list)
    columns: dict[str, ColumnReading] = field(default_factory=dict)


def read_workbook(
    path: Path, stated: Stated = NOTHING_STATED, is_typed: Callable[[str], bool] = lambda name: True
) -> Workbook:
    """Read a sheet as a table; columns of text that are not ``is_typed`` stay as they are. Raises: Unreadable."""
    try:
        reader = fastexcel.read_excel(path)
        loaded = {name: reader.load_sheet(name, header_row=None, n_rows=1) for name in reader.sheet_names}
        sheets = [name for name, sheet in loaded.items() if sheet.width]
        if not sheets:
            raise Unreadable("the workbook holds no cells")
        chosen = stated.sheet or next((name for name in sheets if loaded[name].visible == "visible"), sheets[0])
        if chosen not in sheets:
            raise Unreadable(f"the workbook has no filled sheet {chosen!r}; it has {', '.join(map(repr, sheets[:20]))}")
        header, skipped = _header(_first_rows(reader, chosen), stated)
        names, named = usable_names(header.names)
        header = replace(header, names=names, notes=[*header.notes, *named])
        above = skipped + header.first + header.rows
        rows = partial(_table, reader, chosen, skip_rows=above, column_names=header.names)
        table = rows()
    except (fastexcel.FastExcelError, OSError) as error:
        with path.open("rb") as file:
            is_ole = file.read(4) == OLE[:4]
        what = "it is damaged, or has a password" if is_ole else str(error).splitlines()[0][:200]
        raise Unreadable(f"the workbook cannot be read: {what}") from None
    except BaseException as error:  # a panic of the parser is not an Exception
        if isinstance(error, (Unreadable, KeyboardInterrupt, SystemExit)):
            raise
        raise Unreadable("the workbook is damaged") from None
    frame, own = _first_table(framed(table), lambda end: framed(rows(n_rows=end)), above)
    frame = frame.with_columns(cs.float().fill_nan(None))  # a text: workbooks have no such number
    frame, marks = _with_marks(frame, stated, partial(rows, n_rows=frame.height))
    frame, blank = _without_blank_rows(frame)
    place = reader.sheet_names.index(chosen)
    frame, shown = as_shown(_whole_numbers(frame), formats_of(path, _part(path, place), place, above))
    frame, columns = _without_missing(frame, stated, is_typed)
    columns = {**columns, **{name: replace(columns.get(name, made), note=made.note) for name, made in shown.items()}}
    _add_missing(columns, marks)
    has_gaps = sum(frame.null_count().row(0))
    gaps = _gaps(path, place, above) if has_gaps else Gaps()
    others = ", ".join(repr(name) for name in sheets[:11] if name != chosen)
    notes = [f"sheet {chosen!r}" + f" (not read: {others})" * bool(others), *header.notes]
    notes += own
    notes += [f"{blank} blank row{'s' * (blank > 1)} left out"] * bool(blank)
    if gaps.uncalculated:
        notes.append(
            f"{gaps.uncalculated:,} formulas have no value, as no program has calculated them: read as missing"
        )
    if gaps.failed:
        notes.append(f"{gaps.failed:,} cell{'s' * (gaps.failed > 1)} with an error such as #DIV/0! read as missing")
    if gaps.merged:
        cells = f"{gaps.merged:,} cell{'s' * (gaps.merged > 1)}"
        notes.append(f"{cells} merged over several rows: the first row has the value, the others a missing one")
    row = 0 if header.first < 0 else skipped + header.first + 1
    return Workbook(frame, FoundReading("excel", header_row=row, sheet=chosen, sheets=sheets), notes, columns)


def _table(reader: fastexcel.ExcelReader, sheet: str, **options: Any) -> pa.Table:
    """Return rows of a sheet; a column with cells of types that have none in common is text."""
    # Types from every row: a cell that does not fit one that was guessed would be lost.
    options = {"header_row": None, "schema_sample_rows": None, **options}
    try:
        return _one_table(reader.load_sheet(sheet, **options).to_arrow())
    except fastexcel.FastExcelError as error:
        if "type combination" not in str(error):
            raise
        return _one_table(reader.load_sheet(sheet, dtypes="string", **options).to_arrow())


def _add_missing(columns: dict[str, ColumnReading], marks: dict[str, dict[str, int]]) -> None:
    for name, counts in marks.items():
        columns.setdefault(name, ColumnReading()).missing |= counts


def _with_marks(
    frame: pl.DataFrame, stated: Stated, read: Callable[..., pa.Table]
) -> tuple[pl.DataFrame, dict[str, dict[str, int]]]:
    """Return the marks that were taken for missing cells, and the frame, of which they are texts if so stated."""
    marks = _marks_taken(frame, partial(read, dtypes="string"))
    if not marks or not stated.are_marks_replaced:
        return frame, marks
    return framed(read(dtypes=dict.fromkeys(marks, "string"))), {}


def _marks_taken(frame: pl.DataFrame, as_texts: Callable[[], pa.Table]) -> dict[str, dict[str, int]]:
    """Return the texts such as ``n/a`` that the parser has taken for missing cells of typed columns, and how often."""
    gaps = [column.name for column in frame.iter_columns() if column.dtype != pl.String and column.null_count()]
    if not gaps:
        return {}
    texts = framed(as_texts().select(gaps))
    absent = {name: texts[name].filter(frame[name].is_null() & texts[name].is_in(MISSING)) for name in gaps}
    return {name: dict(counted(marks)) for name, marks in absent.items() if marks.len()}


def note_numbers(frame: pl.DataFrame, columns: dict[str, ColumnReading]) -> None:
    """Note the columns of text whose cells are numbers without leading zeros."""
    for column in frame.select(pl.col(pl.String)).iter_columns():
        cells = column.drop_nulls().str.strip_chars()
        reading = columns.setdefault(column.name, ColumnReading())
        if cells.len() and not reading.note and cells.str.contains(_NUMBER).all():
            reading.note = "kept as text, as the workbook does: its cells are numbers"


@dataclass
class Gaps:
    """Why cells of a sheet have no value, by the number of cells."""

    uncalculated: int = 0  #: formulas that no program has calculated
    failed: int = 0  #: errors
    merged: int = 0  #: cells over several rows


def _gaps(path: Path, sheet: int, above: int) -> Gaps:
    """Return the gaps of a sheet, by its number, that has ``above`` rows above its table; none where that cannot be
    read.
    """
    gaps = Gaps()
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_part(path, sheet)) as content:
            kept = b""
            while (piece := content.read(_PIECE)) and content.tell() < _MAX_SHEET_BYTES:
                gaps.uncalculated += len(_marks(_NO_VALUE, kept, piece))
                gaps.failed += len(_marks(_ERROR, kept, piece))
                rows = [tuple(map(int, match.groups())) for match in _marks(_MERGED, kept, piece)]
                gaps.merged += sum(above < first < last for first, last in rows)
                kept = piece[-_MARK_BYTES:]
    except (zipfile.BadZipFile, OSError, ValueError, IndexError, KeyError, zlib.error):
        return Gaps()
    return gaps


def _part(path: Path, sheet: int) -> str:
    """Return the name of the part that holds a sheet, by its number; empty in a workbook of another kind."""
    if not zipfile.is_zipfile(path):
        return ""
    with zipfile.ZipFile(path) as archive:
        names = sorted(filter(_SHEET.fullmatch, archive.namelist()), key=lambda name: (len(name), name))
    return names[sheet] if sheet < len(names) else ""


def _marks(mark: re.Pattern[bytes], kept: bytes, piece: bytes) -> list[re.Match[bytes]]:
    """Return where the mark ends in this piece, which follows the kept bytes."""
    return [match for match in mark.finditer(kept + piece) if match.end() > len(kept)]


def _first_table(
    frame: pl.DataFrame, read: Callable[[int], pl.DataFrame], above: int
) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows above a blank one that is followed by another table or by remarks, and a note on those.

    ``read`` reads the first rows again, as their types may differ; ``above``: rows of the sheet above the frame.
    """
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    gap = blank.arg_true()
    if frame.width < _MIN_WIDTH or not gap.len():
        return frame, []
    texts = frame.select(pl.all().cast(pl.String, strict=False).fill_null(""))
    for end in gap.to_list()[:_MAX_GAPS]:
        rest = [row for row in texts[end:].iter_rows() if any(row)]
        if not end or blank[end - 1] or not rest:
            continue
        last = frame.height + above
        place = f"row{'s' * (len(rest) > 1)} {end + above + 2}" + f" to {last}" * (len(rest) > 1)
        if _are_remarks(rest, texts[:end]):
            return read(end), [f"remarks below the table, not read: {place} ({rest[0][0][:60]!r})"]
        if len(rest) > 1 and _is_header_of_other(rest[0], texts[:end], rest[1]):
            return read(end), [f"another table below the first one, not read: {place}; state header_row to read it"]
    return frame, []


def _are_remarks(rest: Sequence[Sequence[str]], above: pl.DataFrame) -> bool:
    """Return whether these rows are texts about the table: in the first column alone, and no values as those above."""
    if len(rest) > _MAX_REMARKS or not all(row[0] and not any(row[1:]) for row in rest):
        return False
    are_numbers = all(FLOAT.fullmatch(cell) for cell in above.to_series(0) if cell)
    is_text = not any(FLOAT.fullmatch(row[0]) for row in rest)
    return is_text and (are_numbers or REMARK.match(rest[0][0]) is not None)


def _is_header_of_other(names: Sequence[str], above: pl.DataFrame, below: Sequence[str]) -> bool:
    """Return whether these cells name columns: texts behind a blank row, below numbers of the first table."""
    cells = [cell for cell in names if cell]
    rows = above.tail(_HEAD_ROWS).rows()
    was_number = any(
        name and all(FLOAT.fullmatch(row[at]) for row in rows if row[at]) and any(row[at] for row in rows)
        for at, name in enumerate(names)
    )
    is_text = len(cells) > 1 and not any(FLOAT.fullmatch(cell) for cell in cells)
    return is_text and was_number and all(bool(name) or not cell for name, cell in zip(names, below, strict=True))


def _without_blank_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Leave out rows without a value, as blank lines of a text table; also return how many there were.

    In a table of one column, these are missing values.
    """
    if frame.width == 1:
        return frame, 0
    texts = pl.col(pl.String).str.strip_chars().replace("", None)
    kept = frame.filter(~pl.all_horizontal(frame.with_columns(texts).select(pl.all().is_null()).get_columns()))
    if kept.height == 0:
        raise Unreadable("there are columns but no rows")
    return kept, frame.height - kept.height


def _header(rows: list[list[str]], stated: Stated) -> tuple[Header, int]:
    """Find the header among the first rows of the sheet; also return how many rows above were skipped as stated."""
    skipped = stated.skip if stated.header_row is None else max(0, stated.header_row - 1)
    if skipped >= len(rows):
        raise Unreadable(f"the header is to be in row {skipped + 1}, which is not among the sheet's first {len(rows)}")
    below = rows[skipped:]
    if stated.header_row == 0:
        return no_header(below), skipped
    header = find_header(below, is_sheet=True, first=0 if stated.header_row else None)
    count, note = rows_below(header.names, below[header.first + header.rows :])
    if count:
        header = replace(header, rows=header.rows + count, notes=[*header.notes, note])
    return header, skipped


def _first_rows(reader: fastexcel.ExcelReader, sheet: str) -> list[list[str]]:
    """Return the first rows, each cell as text; blank rows at the top too, which are counted as the sheet counts
    them.
    """
    table = _table(reader, sheet, skip_rows=0, n_rows=_HEAD_ROWS)
    columns = [_as_texts(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _without_missing(
    frame: pl.DataFrame, stated: Stated, is_typed: Callable[[str], bool]
) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Read marks for missing values as in text tables. A column without any keeps its type: text may be digits."""
    marks = {*MISSING, *MISSING_IN_NUMBERS, *stated.na_values}
    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    frame, numbers = _without_numbers(frame, stated.na_values)
    marked = [name for name in text if frame[name].str.strip_chars().is_in(list(marks)).any()]
    if not marked:
        return frame, numbers
    typed, readings = infer_some(frame.select(pl.col(marked).fill_null("")), "", is_typed, stated=stated)
    return frame.with_columns(typed.iter_columns()), {**readings, **numbers}


def _without_numbers(frame: pl.DataFrame, marks: Sequence[str]) -> tuple[pl.DataFrame, dict[str, ColumnReading]]:
    """Empty the numbers that the caller states to mean a missing value."""
    meant = {float(mark): mark for mark in marks if FLOAT.fullmatch(mark)}
    readings: dict[str, ColumnReading] = {}
    columns = []
    for column in frame.iter_columns():
        absent = column.cast(pl.Float64).is_in(list(meant)) if meant and column.dtype.is_numeric() else None
        if absent is not None and absent.any():
            missing = {meant[float(number)]: times for number, times in counted(column.filter(absent))}
            readings[column.name] = ColumnReading(missing=missing)
            column = column.set(absent, None)  # noqa: PLW2901
        columns.append(column)
    return pl.DataFrame(columns), readings


def _as_texts(column: pa.ChunkedArray) -> list[str]:
    return [
        "" if cell is None else cell.isoformat(" ") if isinstance(cell, datetime) else _WHOLE.sub(r"\1", str(cell))
        for cell in column.to_pylist()
    ]


def _texts_of_times(column: pl.Series) -> pl.Series:
    """Write times among texts as the workbook shows them: days without a midnight, hours beyond 24 as such."""
    column = column.str.replace(rf"^{_NO_YEAR}-12-31[ T](\d\d:\d\d:\d\d(\.\d+)?)$", "${1}")
    is_span = column.str.contains(_SPAN)
    if (is_span & ~column.str.ends_with("00:00:00")).any():
        spans = [_hours(cell) if cell and spans else cell for cell, spans in zip(column, is_span, strict=True)]
        column = pl.Series(column.name, spans, dtype=pl.String)
    return column.str.replace(r"^(\d{4}-\d\d-\d\d)[ T]00:00:00$", "${1}")


def _hours(cell: str) -> str:
    """Return a span of time, which the first days of a workbook's calendar stand for, in hours."""
    at = datetime.fromisoformat(cell)
    hours = (at.date() - date(_NO_YEAR, 12, 31)).days * 24 + at.hour
    return f"{hours:02}{cell[13:]}"


def _one_table(table: pa.Table | pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table


def _whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Make whole numbers of floats, as which a workbook keeps every number, and dates of midnights."""
    columns = []
    for column in frame.iter_columns():
        typed = column
        if column.dtype == pl.String:
            typed = _texts_of_times(column)
        elif column.dtype == pl.Float64 and column.drop_nulls().len():
            whole = column.cast(pl.Int64, strict=False)
            if (whole == column).all() and whole.null_count() == column.null_count():
                typed = whole
        elif isinstance(column.dtype, pl.Datetime) and column.drop_nulls().len():
            days = column.dt.truncate("1d")
            if (column.dt.year() == _NO_YEAR).all():
                typed = column.dt.to_string("%H:%M:%S")
            elif (days == column).all():
                typed = column.dt.date()
        columns.append(typed)
    return pl.DataFrame(columns)
