"""One data file to one typed table, and a report of how it was read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple

import polars as pl
import pyarrow as pa

from .cells import ColumnReading
from .columnar import check_size, read_arrow, read_parquet
from .columns import ColumnSummary, TypeName, profile, type_name
from .delimited import NotUtf8, read_delimited
from .doubts import note_doubts
from .found import FoundReading, decimal_of
from .html_tables import DELIMITER, table_of
from .json_tables import read_json, read_json_lines
from .large_parquet import NamesRepeat, claimed_bytes, look_at, numbered_copy
from .large_text import to_parquet
from .packed import unpacked
from .sizes import too_large
from .source import MAX_TABLE_BYTES, Format, TableTooLarge, Unreadable, decoded, detect, format_of, is_plain, read_text
from .spellings import note_on_kept
from .stated import NOTHING_STATED, Stated
from .surroundings import note_on_totals
from .type_inference import infer

_MAX_HEAD_CELLS = 20_000
_LONGEST_CELL = 1000
_KEEP = " (an empty text in na_values keeps them)"
_EXACT = 2**53  #: the last whole number that a float distinguishes from its neighbours


class Reader(NamedTuple):
    """What takes the table: the properties of a ``TableReader`` that decide how it is handed over."""

    lazy: bool  #: it can read a Parquet file bit by bit
    rounds: Literal["never", "with_missing", "always"]  #: columns of whole numbers that it would round
    dates: bool


class TableRead(NamedTuple):
    """The table, and how it was read."""

    frame: pl.DataFrame
    notes: list[str]  #: on the file
    columns: dict[str, str]  #: a note for each column that needs one
    found: FoundReading


def read(path: Path, name: str, stated: Stated = NOTHING_STATED) -> TableRead:
    """Read the file as a table. Raises: Unreadable."""
    with unpacked(path, name) as (content, inner):
        table = _read(content, inner, stated)
    check_size(table.frame.height, table.frame.width)
    note_doubts(table.frame, table.columns)
    return table._replace(notes=[*table.notes, *note_on_totals(table.frame)])


def _read(path: Path, name: str, stated: Stated) -> TableRead:
    match kind_of(path, name, stated):
        case "parquet":
            return TableRead(*read_parquet(path), {}, FoundReading("parquet"))
        case "arrow":
            return TableRead(*read_arrow(path), {}, FoundReading("arrow"))
        case "excel":
            from .workbook import note_numbers, read_workbook

            book = read_workbook(path, stated)
            note_numbers(book.frame, book.columns)
            return TableRead(book.frame, book.notes, column_notes_of(book.columns), book.found)
        case "json" | "jsonl" as kind:
            text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
            table = read_json(text.content) if kind == "json" else read_json_lines(text.content)
            notes = [*text_notes(text.encoding), *[text.note] * bool(text.note), *table.notes]
            return TableRead(table.frame, notes, column_notes_of(table.columns), FoundReading(kind, text.encoding))
        case "html":
            text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
            table_text, notes = table_of(text.content)
            table_read = _typed(table_text, text.encoding, replace(stated, delimiter=DELIMITER), [text.note, *notes])
            reading = replace(table_read.found, format="html", delimiter=None)
            notes = [note for note in table_read.notes if note not in text_notes("utf-8", DELIMITER)]
            return table_read._replace(notes=notes, found=reading)
        case _:
            return _read_text_table(path, name.lower().endswith((".tsv", ".tab")), stated)


def kind_of(path: Path, name: str, stated: Stated) -> Format:
    """Return the kind of the file. Raises: Unreadable, also for an option that does not apply to it."""
    # The bytes of UTF-16 without a mark look like no text: who names an encoding is believed.
    kind = _text_kind(name) if stated.encoding is not None else "csv" if stated.delimiter else detect(path, name)
    stated.check(detect(path, name) if kind == "csv" and stated.encoding is None else kind)
    return kind


def text_notes(encoding: str, delimiter: str = ",") -> list[str]:
    return [f"encoding {encoding}"] * (encoding != "utf-8") + [f"delimiter {delimiter!r}"] * (delimiter != ",")


def column_notes_of(readings: Mapping[str, ColumnReading]) -> dict[str, str]:
    notes = {}
    for column, reading in readings.items():
        missing = ", ".join(f"{text!r} x {count}" for text, count in sorted(reading.missing.items()))
        parts = [reading.note] * bool(reading.note)
        parts += [f"read as missing: {missing}{reading.is_text * _KEEP}"] * bool(missing)
        parts += [note_on_kept(reading.kept)] * bool(reading.kept)
        if parts:
            notes[column] = "; ".join(parts)
    return notes


def read_parts(folder: Path, name: str, stated: Stated) -> TableRead:
    """Return the rows of all files of a folder, in the order of their names; each has the columns of the first.

    Raises: Unreadable naming the file by its number.
    """
    frames: list[pl.DataFrame] = []
    notes: list[str] = []
    columns: dict[str, str] = {}
    reading: FoundReading | None = None
    for number, path in enumerate(sorted(folder.iterdir()), 1):
        try:
            frame, own, own_columns, own_found = read(path, name, stated)
            if frames and set(frame.columns) != set(frames[0].columns):
                odd = sorted(set(frame.columns) ^ set(frames[0].columns))[:5]
                raise Unreadable(f"its columns are not those of the first file: {', '.join(odd)}")
        except Unreadable as refusal:
            raise Unreadable(f"file {number}: {refusal}") from None
        frames.append(frame if not frames else frame.select(frames[0].columns))
        notes += [note for note in own if note not in notes]
        columns = {**own_columns, **columns}
        reading = reading or own_found
        check_size(sum(each.height for each in frames), frame.width)
    try:
        whole = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        names = [each for each in frames[0].columns if len({frame.schema[each] for frame in frames}) > 1]
        raise Unreadable(f"columns are of different types in the files: {', '.join(names[:5])}") from None
    assert reading is not None
    return TableRead(whole, [f"{len(frames)} files", *notes], columns, reading)


def _text_kind(name: str) -> Literal["csv", "json", "jsonl"]:
    lower = name.lower()
    return "jsonl" if lower.endswith((".jsonl", ".ndjson")) else "json" if lower.endswith(".json") else "csv"


def _read_text_table(path: Path, tabs: bool, stated: Stated) -> TableRead:
    try:
        if stated.encoding is not None or not is_plain(path):
            raise NotUtf8
        return _typed(path, "utf-8", stated, tabs=tabs)
    except NotUtf8:
        text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
        return _typed(text.content, text.encoding, stated, [text.note], tabs=tabs)


def _typed(
    source: Path | bytes, encoding: str, stated: Stated, own: Sequence[str] = (), *, tabs: bool = False
) -> TableRead:
    """Return the table of a text in UTF-8; ``own``: notes on the file, or empty ones. Raises: NotUtf8."""
    cells, layout, notes = read_delimited(source, tabs, stated)
    check_size(cells.height, cells.width)
    frame, readings = infer(cells, layout.delimiter, stated=stated)
    notes = [*text_notes(encoding, layout.delimiter), *filter(None, own), *notes]
    decimal = stated.decimal or decimal_of(readings.values())
    reading = FoundReading("csv", encoding, layout.delimiter, layout.header_row, decimal)
    return TableRead(frame, notes, column_notes_of(readings), reading)


def as_seen_by(frame: pl.DataFrame, reader: Reader) -> pl.DataFrame:
    """Return the frame with dates as timestamps where the reader has no dates."""
    if reader.dates or pl.Date not in frame.dtypes:
        return frame
    return pl.DataFrame(
        [column.cast(pl.Datetime("us")) if column.dtype == pl.Date else column for column in frame.iter_columns()]
    )


def answer(path: str, name: str, reader: Reader, rows: int, options: Mapping[str, Any]) -> pl.DataFrame | None:
    """Print the report, or why there is no table, as one line of JSON; return the table.

    The report goes out before the table does: the worker can go on while the table is copied out.
    """
    try:
        source, stated = Path(path), Stated.of(options)
        frame, notes, columns, reading = (read_parts if source.is_dir() else read)(source, name, stated)
        frame = _unrounded(frame, reader, columns)
        _check_bytes(frame, _most_text(source, reading))
    except TableTooLarge as refusal:
        _tell({"refused": str(refusal), "too_large": True})
        return None
    except Unreadable as refusal:
        _tell({"refused": str(refusal)})
        return None
    types = _types(frame)
    _tell_of(frame, rows, notes=notes, columns=columns, height=frame.height, profiles=profile(frame, types))
    return as_seen_by(frame, reader)


def answer_parquet(source: pa.NativeFile, reader: Reader, rows: int) -> pl.DataFrame | None:
    """Answer as ``answer`` does, for one Parquet file; when it is larger than memory, with the report alone."""
    columns: dict[str, str] = {}
    try:
        try:
            if reader.lazy and claimed_bytes(source) > MAX_TABLE_BYTES:
                _answer_lazily(source, rows)
                return None
            whole, notes = read_parquet(source)
            note_doubts(whole, columns)
            frame = _unrounded(whole, reader, columns)
            check_size(frame.height, frame.width)
            _check_bytes(frame, None)
        except TableTooLarge as refusal:
            if reader.lazy:
                _answer_lazily(source, rows)
                return None
            raise Unreadable(
                f"{refusal}; of a Parquet file, SQL and polars read what they need: use one of them"
            ) from None
    except NamesRepeat as refusal:
        _tell({"refused": str(refusal), "too_large": True})
        return None
    except Unreadable as refusal:
        _tell({"refused": str(refusal)})
        return None
    _tell_of(frame, rows, notes=notes, columns=columns, height=frame.height, profiles=profile(frame, _types(frame)))
    return as_seen_by(frame, reader)


def answer_streamed(source: BinaryIO, name: str, rows: int, target: str, options: Mapping[str, Any]) -> None:
    """Answer as ``answer`` does, for a text table larger than memory, which becomes a Parquet file at ``target``; and
    for a Parquet file with repeated names, which becomes one with numbered names.
    """
    stated = Stated.of(options)
    try:
        if source.read(4) == b"PAR1":
            renamed = numbered_copy(source, Path(target))
            with pa.memory_map(target) as written:
                _answer_lazily(written, rows, renamed)
            return
        source.seek(0)
        kind = "csv" if stated.encoding or stated.delimiter else format_of(source.read(1 << 16), name)
        stated.check(kind)
        if kind != "csv":
            raise Unreadable(f"the file is {kind}: of files beyond 300 MB, text tables and Parquet can be read")
        tabs = name.lower().endswith((".tsv", ".tab"))
        table = to_parquet(source, tabs, stated, Path(target))
        with pa.memory_map(target) as written:
            notes = text_notes(table.encoding, table.delimiter) + table.notes
            _answer_lazily(written, rows, notes, column_notes_of(table.columns))
    except Unreadable as refusal:
        _tell({"refused": str(refusal)})


def _answer_lazily(
    source: pa.NativeFile, rows: int, notes: Sequence[str] = (), column_notes: Mapping[str, str] = MappingProxyType({})
) -> None:
    large = look_at(source)
    columns = {**dict.fromkeys(sorted(large.uncounted), "missing values are not counted"), **column_notes}
    _tell_of(large.sample, rows, notes=notes, columns=columns, height=large.rows, profiles=large.profiles, lazy=True)


def _types(frame: pl.DataFrame) -> dict[str, TypeName]:
    return {column: type_name(dtype) for column, dtype in frame.schema.items()}


def _tell_of(frame: pl.DataFrame, rows: int, profiles: list[ColumnSummary], **more: object) -> None:
    shown = min(rows, _MAX_HEAD_CELLS // frame.width)
    head = [
        [cell[:_LONGEST_CELL] if isinstance(cell, str) else cell for cell in row]
        for row in frame.head(shown).iter_rows()
    ]
    _tell({**more, "types": _types(frame), "profiles": [asdict(one) for one in profiles], "head": head})


def _unrounded(frame: pl.DataFrame, reader: Reader, notes: dict[str, str]) -> pl.DataFrame:
    """Cast long whole numbers to text where the reader would round them."""
    whole = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
    if reader.rounds == "never" or not whole:
        return frame
    columns = pl.col(whole)
    rounded = (columns.min() < -_EXACT) | (columns.max() > _EXACT)
    with_missing = reader.rounds == "with_missing"
    if with_missing:
        rounded &= columns.null_count() > 0
    kept = [name for name, is_rounded in frame.select(rounded).row(0, named=True).items() if is_rounded]
    for name in kept:
        note = "kept as text: more digits than a number keeps" + (" beside missing cells" if with_missing else "")
        notes[name] = "; ".join(part for part in (note, notes.get(name)) if part)
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame


def _most_text(source: Path, reading: FoundReading) -> int | None:
    """Return the bytes of a text table's file: its cells hold no more. None for other files, and where it is not
    known.
    """
    if source.is_dir() or reading.format != "csv" or reading.encoding != "utf-8":
        return None
    with source.open("rb") as file:
        is_packed = file.read(2) in (b"\x1f\x8b", b"PK")
    return None if is_packed else source.stat().st_size


def _check_bytes(frame: pl.DataFrame, most_text: int | None) -> None:
    """Cells may share what they hold, here but not on their way out: each one counts.

    Those of a text file do not: together they have ``most_text`` bytes at most, so that they need not be counted.
    """
    if most_text is None or most_text > MAX_TABLE_BYTES // 3:  # in UTF-8 a sign has three bytes at most
        strings = frame.select(pl.col(pl.String)).iter_columns()
        most_text = sum(int(column.str.len_bytes().sum()) for column in strings)
    size = max(frame.estimated_size(), most_text)
    if size > MAX_TABLE_BYTES:
        raise too_large(size)


def _tell(report: dict[str, object]) -> None:
    print(json.dumps(report, default=str), flush=True)  # noqa: T201 - the report's way out of the sandbox
