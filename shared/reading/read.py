"""One data file to one typed table, and a report of how it was read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple

import polars as pl
import pyarrow as pa

from .cells import ColumnReading
from .columnar import check_size, read_arrow, read_parquet
from .columns import ColumnSummary, TypeName, profile, type_name
from .delimited import NotUtf8, read_delimited
from .json_tables import read_json, read_json_lines
from .large_parquet import claimed_bytes, look_at
from .large_text import to_parquet
from .sizes import too_large
from .source import MOST_TABLE_BYTES, Format, TableTooLarge, Unreadable, decoded, detect, format_of, is_plain, read_text
from .stated import NOTHING_STATED, Stated
from .type_inference import infer

_MOST_HEAD_CELLS = 20_000
_LONGEST_CELL = 1000
_EXACT = 2**53  #: the last whole number that a float distinguishes from its neighbours


class Reader(NamedTuple):
    """What takes the table: the properties of a ``TableReader`` that decide how it is handed over."""

    lazy: bool  #: it can read a Parquet file bit by bit
    rounds: Literal["never", "with_missing", "always"]  #: columns of whole numbers that it would round
    dates: bool


def read(path: Path, name: str, stated: Stated = NOTHING_STATED) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """Return the table, notes on the file, and a note for each column that needs one.

    Raises: Unreadable.
    """
    notes: list[str] = []
    columns: dict[str, str] = {}
    match kind_of(path, name, stated):
        case "parquet":
            frame = read_parquet(path)
        case "arrow":
            frame = read_arrow(path)
        case "excel":
            from .workbook import read_workbook

            book = read_workbook(path, stated)
            frame, columns = book.frame, column_notes_of(book.columns)
            others = ", ".join(map(repr, book.others[:10]))
            notes += [f"sheet {book.sheet!r}" + f" (not read: {others})" * bool(others), *book.notes]
        case "json" | "jsonl" as kind:
            text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
            table = read_json(text.content) if kind == "json" else read_json_lines(text.content)
            frame, columns = table.frame, column_notes_of(table.columns)
            notes += [*text_notes(text.encoding), *[text.note] * bool(text.note), *table.notes]
        case _:
            tabs = name.lower().endswith((".tsv", ".tab"))
            frame, readings, own = _read_text_table(path, tabs, stated)
            notes += own
            columns = column_notes_of(readings)
    check_size(frame.height, frame.width)
    return frame, notes, columns


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
        parts = [reading.note] * bool(reading.note) + [f"read as missing: {missing}"] * bool(missing)
        if parts:
            notes[column] = "; ".join(parts)
    return notes


def read_parts(folder: Path, name: str, stated: Stated) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """Return the rows of all files of a folder, in the order of their names; each has the columns of the first.

    Raises: Unreadable naming the file by its number.
    """
    frames: list[pl.DataFrame] = []
    notes: list[str] = []
    columns: dict[str, str] = {}
    for number, path in enumerate(sorted(folder.iterdir()), 1):
        try:
            frame, own, own_columns = read(path, name, stated)
            if frames and set(frame.columns) != set(frames[0].columns):
                odd = sorted(set(frame.columns) ^ set(frames[0].columns))[:5]
                raise Unreadable(f"its columns are not those of the first file: {', '.join(odd)}")
        except Unreadable as refusal:
            raise Unreadable(f"file {number}: {refusal}") from None
        frames.append(frame if not frames else frame.select(frames[0].columns))
        notes += [note for note in own if note not in notes]
        columns = {**own_columns, **columns}
        check_size(sum(each.height for each in frames), frame.width)
    try:
        whole = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        names = [each for each in frames[0].columns if len({frame.schema[each] for frame in frames}) > 1]
        raise Unreadable(f"columns are of different types in the files: {', '.join(names[:5])}") from None
    return whole, [f"{len(frames)} files", *notes], columns


def _text_kind(name: str) -> Literal["csv", "json", "jsonl"]:
    lower = name.lower()
    return "jsonl" if lower.endswith((".jsonl", ".ndjson")) else "json" if lower.endswith(".json") else "csv"


def _read_text_table(
    path: Path, tabs: bool, stated: Stated
) -> tuple[pl.DataFrame, dict[str, ColumnReading], list[str]]:
    encoding, mended = "utf-8", list[str]()
    try:
        if stated.encoding is not None or not is_plain(path):
            raise NotUtf8
        cells, delimiter, notes = read_delimited(path, tabs, stated)
    except NotUtf8:
        text = read_text(path) if stated.encoding is None else decoded(path, stated.encoding)
        encoding = text.encoding
        mended = [text.note] * bool(text.note)
        cells, delimiter, notes = read_delimited(text.content, tabs, stated)
    check_size(cells.height, cells.width)
    return *infer(cells, delimiter, stated=stated), text_notes(encoding, delimiter) + mended + notes


def as_seen_by(frame: pl.DataFrame, reader: Reader) -> pl.DataFrame:
    """Return the frame with dates as timestamps where the reader has no dates."""
    return frame if reader.dates else frame.with_columns(pl.col(pl.Date).cast(pl.Datetime("us")))


def answer(path: str, name: str, reader: Reader, rows: int, options: Mapping[str, Any]) -> pl.DataFrame | None:
    """Print the report, or why there is no table, as one line of JSON; return the table.

    The report goes out before the table does: the worker can go on while the table is copied out.
    """
    try:
        source, stated = Path(path), Stated.of(options)
        frame, notes, columns = (read_parts if source.is_dir() else read)(source, name, stated)
        frame = _unrounded(frame, reader, columns)
        _check_bytes(frame, _most_text(source, name, stated))
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
            if reader.lazy and claimed_bytes(source) > MOST_TABLE_BYTES:
                _answer_lazily(source, rows)
                return None
            frame = _unrounded(read_parquet(source), reader, columns)
            check_size(frame.height, frame.width)
            _check_bytes(frame, None)
        except TableTooLarge as refusal:
            if reader.lazy:
                _answer_lazily(source, rows)
                return None
            raise Unreadable(
                f"{refusal}; of a Parquet file, SQL and polars read what they need: use one of them"
            ) from None
    except Unreadable as refusal:
        _tell({"refused": str(refusal)})
        return None
    _tell_of(frame, rows, notes=[], columns=columns, height=frame.height, profiles=profile(frame, _types(frame)))
    return as_seen_by(frame, reader)


def answer_streamed(source: BinaryIO, name: str, rows: int, target: str, options: Mapping[str, Any]) -> None:
    """Answer as ``answer`` does, for a text table larger than memory, which becomes a Parquet file at ``target``."""
    stated = Stated.of(options)
    try:
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
    shown = min(rows, _MOST_HEAD_CELLS // frame.width)
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


def _most_text(source: Path, name: str, stated: Stated) -> int | None:
    """Return the bytes of a text table's file: its cells hold no more. None for other files, and where it is not
    known.
    """
    if source.is_dir() or stated.encoding is not None or detect(source, name) != "csv":
        return None
    return source.stat().st_size


def _check_bytes(frame: pl.DataFrame, most_text: int | None) -> None:
    """Cells may share what they hold, here but not on their way out: each one counts.

    Those of a text file do not: together they have ``most_text`` bytes at most, so that they need not be counted.
    """
    if most_text is None or most_text > MOST_TABLE_BYTES // 3:  # in UTF-8 a sign has three bytes at most
        strings = frame.select(pl.col(pl.String)).iter_columns()
        most_text = sum(int(column.str.len_bytes().sum()) for column in strings)
    size = max(frame.estimated_size(), most_text)
    if size > MOST_TABLE_BYTES:
        raise too_large(size)


def _tell(report: dict[str, object]) -> None:
    print(json.dumps(report, default=str), flush=True)  # noqa: T201 - the report's way out of the sandbox
