"""CSV and TSV: the delimiter is found, ragged rows are named by line, every cell arrives as text."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import polars as pl

from .sampled_types import LEAST_BYTES, read_large
from .source import MOST_COLUMNS, Unreadable

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200
_HEAD = 256 * 1024
_LONGEST_FIELD = 1 << 24


def read_delimited(
    source: Path | bytes, tab_first: bool = False, stated: str | None = None
) -> tuple[pl.DataFrame, str]:
    """The cells as text ("" where empty) and the delimiter. A column that is no text any more is typed already.

    Raises: Unreadable with the line of the first row that does not fit; NotUtf8.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    head = _head(source)
    delimiter = stated or find_delimiter(head, tab_first)
    names = _header(source, head, delimiter)
    if isinstance(source, Path) and source.stat().st_size >= LEAST_BYTES:
        frame = read_large(source, head.decode(errors="replace"), delimiter, names)
        if frame is not None:
            return frame, delimiter
    try:
        frame = pl.read_csv(source, separator=delimiter, infer_schema=False, empty_string_is_null=False, glob=False)
    except pl.exceptions.PolarsError as error:
        if "utf-8" in str(error):
            raise NotUtf8 from None
        # Rows that are too long, or quotes that the fast reader does not take: the careful one decides.
        frame = _read_carefully(_whole(source), delimiter, names)
    else:
        # A row that is too short, and a blank line, look like empty last cells here.
        if (frame[:, -1] == "").any():
            frame = _read_carefully(_whole(source), delimiter, names)
    frame.columns = names
    if frame.height == 0:
        raise Unreadable("there is a header but no rows")
    return frame, delimiter


class NotUtf8(Exception):
    """The text is in another encoding."""


class BadLine(Unreadable):
    """A row that does not fit."""

    def __init__(self, line: int, what: str) -> None:
        """``what`` follows the number of the line, from 1."""
        super().__init__(f"line {line}{what}")
        self.line = line
        self.what = what


def _head(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:_HEAD]
    with source.open("rb") as file:
        head = file.read(_HEAD)
    return head.removeprefix(b"\xef\xbb\xbf")


def _whole(source: Path | bytes) -> bytes:
    content = source if isinstance(source, bytes) else source.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError:
        raise NotUtf8 from None
    return content


def find_delimiter(head: bytes, tab_first: bool = False) -> str:
    """The delimiter that splits the first lines most evenly; a comma when none does."""
    lines = _sample(head)
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


def _sample(head: bytes) -> list[str]:
    lines = head.decode(errors="replace").splitlines(keepends=True)
    if len(head) == _HEAD and len(lines) > 1:
        lines = lines[:-1]  # the last one is cut
    return [line for line in lines[:_SAMPLE_LINES] if line.strip()] or [""]


def _header(source: Path | bytes, head: bytes, delimiter: str) -> list[str]:
    row = _first_row(head, delimiter)
    if row is None:  # longer than the head
        row = _first_row(_whole(source), delimiter) or []
    names = [name.strip() for name in row]
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


def _first_row(content: bytes, delimiter: str) -> list[str] | None:
    """The first row that is not blank; ``None`` when it may go on behind the content."""
    text = io.StringIO(content.decode(errors="replace"), newline="")
    try:
        row = next((row for row in csv.reader(text, delimiter=delimiter) if row), [])
    except csv.Error as error:
        raise Unreadable(f"the header cannot be read: {error}") from None
    return None if len(content) == _HEAD and not text.read(1) else row


def _read_carefully(content: bytes, delimiter: str, names: list[str]) -> pl.DataFrame:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

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
    text = io.TextIOWrapper(io.BytesIO(content), errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    try:
        for row in reader:
            if row and len(row) != width:
                what = f" has {len(row)} fields, the header has {width}: every row needs as many as there are columns"
                return BadLine(line, what)
            line = reader.line_num + 1
    except csv.Error as error:
        return BadLine(reader.line_num, f": {error}")
    return Unreadable("a quoted cell is not closed or is followed by text before the next delimiter")
