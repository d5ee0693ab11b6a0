"""CSV and TSV: the delimiter is found, ragged rows are named by line, every cell arrives as text."""

from __future__ import annotations

import csv
import io
from collections import Counter

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv

from .failure import MOST_COLUMNS, Unreadable

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200


def read_delimited(content: bytes, tab_first: bool = False) -> tuple[pl.DataFrame, str]:
    """The cells as text ("" where empty) and the delimiter.

    Raises: Unreadable with the line of the first row that does not fit.
    """
    delimiter = find_delimiter(content, tab_first)
    names = _header(content, delimiter)
    try:
        frame = pl.read_csv(
            content,
            separator=delimiter,
            infer_schema=False,
            empty_string_is_null=False,
            glob=False,
        )
    except pl.exceptions.PolarsError:
        # Rows that are too long, or quotes that the fast reader does not take: the careful one decides.
        frame = _read_carefully(content, delimiter, names)
    else:
        # A row that is too short, and a blank line, look like empty last cells here.
        if (frame[:, -1] == "").any():
            frame = _read_carefully(content, delimiter, names)
    frame.columns = names
    if frame.height == 0:
        raise Unreadable("there is a header but no rows")
    return frame, delimiter


def find_delimiter(content: bytes, tab_first: bool = False) -> str:
    """The delimiter that splits the first lines most evenly; a comma when none does."""
    lines = _sample(content)
    best, best_score = ("\t" if tab_first else ","), (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        width, count = widths.most_common(1)[0]
        header = len(next(csv.reader(lines[:1], delimiter=delimiter), []))
        if width > 1 and header > 1:
            share = count / sum(widths.values())
            score = (round(share, 2), width)
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _sample(content: bytes) -> list[str]:
    text = content[: 256 * 1024].decode(errors="replace")
    lines = text.splitlines(keepends=True)
    if len(content) > 256 * 1024 and len(lines) > 1:
        lines = lines[:-1]  # the last one is cut
    return [line for line in lines[:_SAMPLE_LINES] if line.strip()] or [""]


def _header(content: bytes, delimiter: str) -> list[str]:
    names = [name.strip() for name in _first_row(content, delimiter)]
    check_names(names)
    return names


def check_names(names: list[str]) -> None:
    """Raises: Unreadable when columns are too many, nameless or named alike."""
    if len(names) > MOST_COLUMNS:
        raise Unreadable(f"there are {len(names):,} columns, at most {MOST_COLUMNS:,} can be worked with")
    empty = [position for position, name in enumerate(names, 1) if not name]
    if empty:
        raise Unreadable(f"column {empty[0]} of {len(names)} has an empty name: give every column a name")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = [str(position) for position, name in enumerate(names, 1) if name == twice[0]]
        raise Unreadable(f"the column name {twice[0][:100]!r} is used more than once (columns {', '.join(places[:5])})")


def _first_row(content: bytes, delimiter: str) -> list[str]:
    size = 1 << 16
    while True:
        text = io.StringIO(content[:size].decode(errors="replace"), newline="")
        try:
            row = next((row for row in csv.reader(text, delimiter=delimiter) if row), [])
        except csv.Error as error:
            raise Unreadable(f"the header cannot be read: {error}") from None
        if size >= len(content) or text.read(1):
            return row
        size *= 16


def _read_carefully(content: bytes, delimiter: str, names: list[str]) -> pl.DataFrame:
    try:
        table = pa_csv.read_csv(
            io.BytesIO(content),
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=0, use_threads=True),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.large_string() for name in names}, strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        raise _complaint(content, delimiter, len(names)) from None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.slice(1)  # the header is a row like the others to this reader


def _complaint(content: bytes, delimiter: str, width: int) -> Unreadable:
    """Find the first row that does not fit, with the plain and slow reader."""
    csv.field_size_limit(1 << 24)
    text = io.TextIOWrapper(io.BytesIO(content), errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    try:
        for row in reader:
            if row and len(row) != width:
                return Unreadable(
                    f"line {line} has {len(row)} fields, the header has {width}: "
                    "every row needs as many as there are columns"
                )
            line = reader.line_num + 1
    except csv.Error as error:
        return Unreadable(f"line {reader.line_num}: {error}")
    return Unreadable("a quoted cell is not closed or is followed by text before the next delimiter")
