"""One data file to one typed table, and a report of how it was read."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import polars as pl

from .cells import ColumnReading
from .columnar import check_size, read_arrow, read_parquet
from .columns import profile, type_name
from .delimited import NotUtf8, read_delimited
from .kinds import infer
from .objects import read_json, read_json_lines
from .sizes import too_large
from .source import MOST_TABLE_BYTES, Unreadable, detect, is_plain, read_text

Reader = Literal["pandas", "polars", "r", "sql"]
_MOST_HEAD_CELLS = 20_000
_LONGEST_CELL = 1000
_EXACT = 2**53  #: the last whole number that a float tells from its neighbours


def read(path: Path, name: str) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """The table, notes on the file, and a note for each column that needs one.

    Raises: Unreadable.
    """
    notes: list[str] = []
    columns: dict[str, str] = {}
    match detect(path, name):
        case "parquet":
            frame = read_parquet(path)
        case "arrow":
            frame = read_arrow(path)
        case "excel":
            from .workbook import read_workbook

            frame, sheet, others = read_workbook(path)
            notes.append(f"sheet {sheet!r}" + (f" (not read: {', '.join(map(repr, others[:10]))})" if others else ""))
        case "json" | "jsonl" as kind:
            text = read_text(path)
            frame = read_json(text.content) if kind == "json" else read_json_lines(text.content)
        case _:
            frame, readings, delimiter, encoding = _read_text_table(path, name.lower().endswith((".tsv", ".tab")))
            if encoding != "utf-8":
                notes.append(f"encoding {encoding}")
            if delimiter != ",":
                notes.append(f"delimiter {delimiter!r}")
            for column, reading in readings.items():
                missing = ", ".join(f"{text!r} x {count}" for text, count in sorted(reading.missing.items()))
                parts = [reading.note] * bool(reading.note) + [f"read as missing: {missing}"] * bool(missing)
                if parts:
                    columns[column] = "; ".join(parts)
    check_size(frame.height, frame.width)
    return frame, notes, columns


def _read_text_table(path: Path, tabs: bool) -> tuple[pl.DataFrame, dict[str, ColumnReading], str, str]:
    encoding = "utf-8"
    try:
        if not is_plain(path):
            raise NotUtf8
        cells, delimiter = read_delimited(path, tabs)
    except NotUtf8:
        text = read_text(path)
        encoding = text.encoding
        cells, delimiter = read_delimited(text.content, tabs)
    check_size(cells.height, cells.width)
    return *infer(cells, delimiter), delimiter, encoding


def as_seen_by(frame: pl.DataFrame, reader: Reader) -> pl.DataFrame:
    """In the shape that the code's language handles best: pandas has no dates, only moments."""
    return frame.with_columns(pl.col(pl.Date).cast(pl.Datetime("us"))) if reader == "pandas" else frame


def answer(path: str, name: str, reader: Reader, rows: int) -> pl.DataFrame | None:
    """Print the report, or the reason why not, as one line of JSON; return the table.

    The report goes out before the table does: the worker can go on while the table is copied out.
    """
    try:
        frame, notes, columns = read(Path(path), name)
        frame = _unrounded(frame, reader, columns)
        _check_bytes(frame)
    except Unreadable as refusal:
        _tell({"refused": str(refusal)})
        return None
    types = {column: type_name(dtype) for column, dtype in frame.schema.items()}
    shown = min(rows, _MOST_HEAD_CELLS // frame.width)
    _tell(
        {
            "notes": notes,
            "columns": columns,
            "types": types,
            "height": frame.height,
            "profiles": [asdict(one) for one in profile(frame, types)],
            "head": [
                [cell[:_LONGEST_CELL] if isinstance(cell, str) else cell for cell in row]
                for row in frame.head(shown).iter_rows()
            ],
        }
    )
    return as_seen_by(frame, reader)


def _unrounded(frame: pl.DataFrame, reader: Reader, notes: dict[str, str]) -> pl.DataFrame:
    """Long numbers as text where the language would round them: R all, pandas those of a column with missing cells."""
    whole = [name for name, dtype in frame.schema.items() if dtype.is_integer()]
    if reader not in ("pandas", "r") or not whole:
        return frame
    columns = pl.col(whole)
    rounded = (columns.min() < -_EXACT) | (columns.max() > _EXACT)
    rounded &= columns.null_count() > 0 if reader == "pandas" else True
    kept = [name for name, is_rounded in frame.select(rounded).row(0, named=True).items() if is_rounded]
    for name in kept:
        note = "kept as text: more digits than a number keeps" + (" beside missing cells" if reader == "pandas" else "")
        notes[name] = "; ".join(part for part in (note, notes.get(name)) if part)
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame


def _check_bytes(frame: pl.DataFrame) -> None:
    """Cells may share what they hold, here but not on their way out: each one counts."""
    text = sum(int(column.str.len_bytes().sum()) for column in frame.select(pl.col(pl.String)).iter_columns())
    size = max(frame.estimated_size(), text)
    if size > MOST_TABLE_BYTES:
        raise too_large(size)


def _tell(report: dict[str, object]) -> None:
    print(json.dumps(report, default=str), flush=True)  # noqa: T201 - the report's way out of the sandbox
