"""Text tables larger than memory: read piece by piece, and written as one Parquet file whose types fit every piece."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow.parquet as pq

from .cells import ColumnReading
from .delimited import (
    SPACED,
    BadLine,
    BadRow,
    Layout,
    LeftOut,
    NotUtf8,
    check_misfits,
    find_delimiter,
    layout_of,
    may_have_blanks_before_quotes,
    read_delimited,
)
from .found import FoundReading, decimal_of
from .logs import check_log
from .quotes import closed_up, note_on_kept, without_blanks_before
from .source import Unreadable, encoding_of, utf16_of
from .spellings import values_among_marks
from .stated import Stated
from .type_inference import POINT_THOUSANDS, infer, infer_some

PIECE_BYTES = 48_000_000  #: of text; as cells it takes about three times as much
_HEAD = 256 * 1024
_BOM = b"\xef\xbb\xbf"
_LONGEST_ROW = 16_000_000  #: bytes
_WINDOW, _BLOCK = 1 << 16, 1 << 22
_OTHER_TYPES = "kept as text: not all of its cells read as one type"


@dataclass(frozen=True)
class StreamedTable:
    """What is known of the file once it has been read."""

    columns: dict[str, ColumnReading]
    delimiter: str
    encoding: str
    notes: list[str]
    header_row: int

    @property
    def found(self) -> FoundReading:
        return FoundReading("csv", self.encoding, self.delimiter, self.header_row, decimal_of(self.columns.values()))


@dataclass(frozen=True)
class _Text:
    """The file, and how it is written."""

    file: BinaryIO
    size: int
    layout: Layout
    begins: int  #: behind the header
    encoding: str
    stated: Stated
    is_typed: Callable[[str], bool] | None = None
    misfits: list[BadRow] | None = None
    kept: list[int] = field(default_factory=list)  #: lines of cells with text behind a closing quote
    left_out: LeftOut = field(default_factory=LeftOut)
    is_spaced: bool = False  #: blanks between a delimiter and a quote are left out
    damage: str = ""  #: a note on bytes that are not text in the encoding

    @property
    def names(self) -> list[str]:
        return self.layout.names

    @property
    def delimiter(self) -> str:
        return self.layout.delimiter

    @property
    def header(self) -> bytes:
        """A line of names in front of each piece, in UTF-8."""
        return self.layout.header()


@dataclass
class _Type:
    """The type that a column has in all pieces so far; ``dtype`` is None while all its cells are missing."""

    dtype: pl.DataType | None
    note: str

    def joined(self, dtype: pl.DataType, note: str) -> _Type:
        """Return the type that can hold the cells of another piece too."""
        notes = {self.note, note}
        if self.dtype is None:
            return _Type(dtype, note)
        if dtype == pl.String:
            return self if self.dtype == dtype else _Type(dtype, note or _OTHER_TYPES)
        # A piece with small numbers alone shows no separators; what they mean is the same.
        if len(notes) > 1 and not self._differs_by_separators(dtype, note):
            return _Type(pl.String(), _OTHER_TYPES)
        if self.dtype == dtype:
            return _Type(dtype, max(notes))
        numeric = self.dtype.is_numeric() and dtype.is_numeric()
        return _Type(pl.Float64(), max(notes)) if numeric else _Type(pl.String(), _OTHER_TYPES)

    def _differs_by_separators(self, dtype: pl.DataType, note: str) -> bool:
        """Return whether one of the pieces alone shows separators of thousands, and the other has no sign like them."""
        without = self.dtype if not self.note else dtype if not note else None
        separators = max(self.note, note)
        has_points = separators == POINT_THOUSANDS  # which are those of decimals in the other piece
        is_alike = without is not None and (without.is_integer() or not has_points)
        return is_alike and separators.startswith("thousands")


@dataclass
class _Types:
    """Of all columns; what is learnt in one pass over the file holds in the next."""

    of: dict[str, _Type] = field(default_factory=dict)
    #: Marks for missing values that are values in a column, as the first piece shows.
    values: dict[str, frozenset[str]] | None = None

    @property
    def texts(self) -> list[str]:
        return [name for name, each in self.of.items() if each.dtype == pl.String]

    def learn(self, frame: pl.DataFrame, readings: dict[str, ColumnReading]) -> bool:
        """Return whether the piece fits the known types, and widen them until it does."""
        before = dict(self.of)
        for name, dtype in frame.schema.items():
            known = self.of.get(name, _Type(None, ""))
            is_empty = frame[name].null_count() == frame.height
            self.of[name] = known if is_empty else known.joined(dtype, readings[name].note)
        return not before or all(before[name].dtype == each.dtype for name, each in self.of.items())

    def fitted(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col(name).cast(each.dtype or pl.String()) for name, each in self.of.items())


def to_parquet(
    file: BinaryIO,
    tabs: bool,
    stated: Stated,
    to: Path,
    is_typed: Callable[[str], bool] | None = None,
    misfits: list[BadRow] | None = None,
) -> StreamedTable:
    """Write the rows of a text table to ``to``, a row group for each piece.

    ``is_typed``: which columns are typed; the others stay as they are written.
    ``misfits``: takes the rows that do not fit; else the first one is raised.

    Raises: Unreadable with the line of the first row that does not fit.
    """
    try:
        encoding = stated.encoding or utf16_of(_read(file, 0, _HEAD)) or "utf-8"
        text = _text(file, tabs, stated, encoding)
        return _written(replace(text, is_typed=is_typed, misfits=misfits), to)
    except NotUtf8:
        size = file.seek(0, os.SEEK_END)
        encoding, damage = encoding_of(_read(file, at, at + _BLOCK) for at in range(0, size, _BLOCK))
        text = _text(file, tabs, stated, encoding, is_damaged=bool(damage))
        return _written(replace(text, is_typed=is_typed, misfits=misfits, damage=damage), to)


def _text(file: BinaryIO, tabs: bool, stated: Stated, encoding: str, *, is_damaged: bool = False) -> _Text:
    _check_encoding(encoding)
    size = file.seek(0, os.SEEK_END)
    head = _read(file, 0, _HEAD)
    mark = len(_BOM) if head.startswith(_BOM) else 0
    head = _utf8(head[mark:], encoding, cut=True)
    if stated.delimiter is None and stated.header_row is None and not stated.skip:
        check_log(head)
    delimiter = stated.delimiter or find_delimiter(head, tabs)
    is_spaced = (
        may_have_blanks_before_quotes(head, delimiter)
        and without_blanks_before(_whole_rows(head), delimiter) is not None
    )
    head = closed_up(head, delimiter) if is_spaced else head
    layout = layout_of(head, tabs, stated, is_whole=True)
    assert layout is not None
    layout = layout.usable()
    if encoding == "utf-8" and not is_damaged and any("\ufffd" in name for name in layout.names):
        try:
            head[: layout.body].decode()
        except UnicodeDecodeError:
            raise NotUtf8 from None
    begins = mark
    for _ in range(head.count(b"\n", 0, layout.body)):
        begins = _behind_line(file, begins)
    if is_spaced:
        layout = replace(layout, notes=[*layout.notes, SPACED])
    return _Text(file, size, layout, begins, encoding, stated, is_spaced=is_spaced)


def _whole_rows(head: bytes) -> bytes:
    """Return the head up to the end of a line with no cell open."""
    end = head.rfind(b"\n") + 1
    while end > 1 and head.count(b'"', 0, end) % 2:
        end = head.rfind(b"\n", 0, end - 1) + 1
    return head[:end]


def _check_encoding(encoding: str) -> None:
    """Line ends and quotes are looked for in the bytes as they are. Raises: Unreadable."""
    try:
        plain = '\n",;'.encode(encoding) == b'\n",;'
    except LookupError:
        raise Unreadable(f"there is no text encoding {encoding!r}") from None
    if not plain:
        raise Unreadable(f"text in {encoding} can be 300 MB at most: save larger files as UTF-8")


def _utf8(piece: bytes, encoding: str, cut: bool = False, is_damaged: bool = False) -> bytes:
    """Return the piece in UTF-8; ``cut``: its last character may be cut. Raises: NotUtf8, Unreadable."""
    try:
        if encoding == "utf-8" and not is_damaged:
            return piece
        lenient = cut or is_damaged or encoding == "windows-1252"
        return piece.decode(encoding, errors="replace" if lenient else "strict").encode()
    except UnicodeError:
        raise Unreadable(f"the file is not text in {encoding}") from None


def _written(text: _Text, to: Path) -> StreamedTable:
    types, readings = _Types(), {name: ColumnReading() for name in text.names}
    while not _attempt(text, types, readings, to):
        readings = {name: ColumnReading() for name in text.names}
    for name, reading in readings.items():
        reading.note = types.of[name].note
        reading.is_text &= types.of[name].dtype == pl.String
    notes = [*text.layout.notes, *[text.damage] * bool(text.damage)]
    notes += [note_on_kept(text.kept)] * bool(text.kept)
    notes += text.left_out.notes()
    return StreamedTable(readings, text.delimiter, text.encoding, notes, text.layout.header_row)


def _attempt(text: _Text, types: _Types, readings: dict[str, ColumnReading], to: Path) -> bool:
    """Return whether all pieces had the types of the first ones. If not, ``types`` fit all of them now."""
    writer: pq.ParquetWriter | None = None
    is_agreed = True
    try:
        for cells in _pieces(text):
            if types.values is None:
                texts = cells.select(pl.col(pl.String)).iter_columns()
                types.values = {column.name: values_among_marks(column.name, column) for column in texts}
            if text.is_typed is None:
                frame, own = infer(cells, text.delimiter, types.texts, text.stated, types.values)
            else:
                frame, own = infer_some(cells, text.delimiter, text.is_typed, types.texts, text.stated, types.values)
            is_agreed = types.learn(frame, own) and is_agreed
            if not is_agreed:
                continue
            _add(readings, own)
            table = types.fitted(frame).to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or pq.ParquetWriter(to, table.schema, compression="zstd", compression_level=1)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise Unreadable("there is a header but no rows")
    return is_agreed


def _add(readings: dict[str, ColumnReading], own: dict[str, ColumnReading]) -> None:
    for name, reading in own.items():
        readings[name].is_text |= reading.is_text
        for all_of, more in ((readings[name].missing, reading.missing), (readings[name].kept, reading.kept)):
            for spelling, count in more.items():
                all_of[spelling] = all_of.get(spelling, 0) + count


def _pieces(text: _Text) -> Iterator[pl.DataFrame]:
    """Yield the cells of each piece as text. Raises: Unreadable, NotUtf8."""
    begins, rows = text.begins, 0
    text.kept.clear()
    text.left_out.blank = text.left_out.names = 0
    if text.misfits is not None:
        text.misfits.clear()
    for ends in _ends(text):
        piece = _read(text.file, begins, ends)
        if piece.strip():
            try:
                content = _utf8(piece, text.encoding, is_damaged=bool(text.damage))
                source = text.header + (closed_up(content, text.delimiter) if text.is_spaced else content)
                own: list[BadRow] | None = None if text.misfits is None else []
                kept: list[int] = []
                stated = Stated(delimiter=text.delimiter, header_row=1, is_piece=True)
                cells, *_ = read_delimited(source, stated=stated, misfits=own, kept=kept, left_out=text.left_out)
                above = _count(text.file, 0, begins, b"\n") - text.header.count(b"\n") if own or kept else 0
                text.kept.extend(line + above for line in kept)
                if text.misfits is not None and own:
                    text.misfits.extend(BadRow(each.position + rows, each.line + above, each.what) for each in own)
                    check_misfits(text.misfits)
                rows += cells.height + len(own or ())
            except BadLine as bad:
                # Each piece follows the header, whose lines would be counted twice.
                above = _count(text.file, 0, begins, b"\n") - text.header.count(b"\n")
                raise BadLine(bad.line + above, bad.what) from None
            cells.columns = text.names
            yield cells
        begins = ends


def _ends(text: _Text) -> Iterator[int]:
    """Yield where pieces end: behind a line end that is not within quotes."""
    file, size = text.file, text.size
    quoted = _count(file, text.begins, size, b'"') % 2 == 0  # stray quotes say nothing of line ends
    at = text.begins
    while at < size:
        until = min(at + PIECE_BYTES, size)
        inside = quoted and _count(file, at, until, b'"') % 2 == 1
        while until < size:  # from line to line, until no cell is open
            behind = _behind_line(file, until)
            inside ^= quoted and _count(file, until, behind, b'"') % 2 == 1
            until = behind
            if not inside:
                break
            if until - at > PIECE_BYTES + _LONGEST_ROW:
                raise Unreadable("a quoted cell is not closed, or is longer than 16 MB")
        yield until
        at = until


def _read(file: BinaryIO, begin: int, end: int) -> bytes:
    file.seek(begin)
    return file.read(end - begin)


def _behind_line(file: BinaryIO, at: int) -> int:
    """Return the place behind the next line end, or the end of the file. Raises: Unreadable when a line is too long."""
    for begin in range(at, at + _LONGEST_ROW, _WINDOW):
        window = _read(file, begin, begin + _WINDOW)
        place = window.find(b"\n")
        if place >= 0 or len(window) < _WINDOW:
            return begin + (place + 1 if place >= 0 else len(window))
    raise Unreadable("a line is longer than 16 MB")


def _count(file: BinaryIO, begin: int, end: int, sign: bytes) -> int:
    return sum(_read(file, at, min(at + _BLOCK, end)).count(sign) for at in range(begin, end, _BLOCK))
