"""CSV, TSV, JSON, JSON lines, Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import IO, cast

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from polars.io.plugins import register_io_source

from services.gateway.tables.cells import (
    BATCH_ROWS,
    as_text,
    batches,
    in_python,
    may_be_infinite,
    to_json,
    with_infinities,
)

Write = Callable[[pq.ParquetFile, IO[bytes]], None]
Sink = Callable[[pl.LazyFrame], None]
#: Small batches are written as one, since each costs a little: so many at most, and no more once they have the bytes.
_MAX_JOINED, _SMALL_BYTES = 8, 4_000_000
_JSON = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse}"
    "th,td{border:1px solid #ccc;padding:.25em .6em;text-align:left}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}th,td{border-color:#444}}"
)


def write_csv(file: pq.ParquetFile, out: IO[bytes]) -> None:
    _delimited(file, out, ",")


def write_tsv(file: pq.ParquetFile, out: IO[bytes]) -> None:
    _delimited(file, out, "\t")


def _delimited(file: pq.ParquetFile, out: IO[bytes], delimiter: str) -> None:
    """Quoted where it has to be, as RFC 4180 says: an empty text is ``""``, a missing value is nothing."""
    names = file.schema_arrow.names
    if not names:
        return

    def sink(rows: pl.LazyFrame) -> None:
        rows.sink_csv(out, include_header=False, separator=delimiter, batch_size=BATCH_ROWS)

    sink(pl.LazyFrame([names], orient="row"))
    _sink_each(map(_as_csv, batches(file)), sink)


def _as_csv(batch: pa.RecordBatch) -> pl.DataFrame:
    columns = [column if _is_alike(column) else _text_of(column) for column in batch.columns]
    return _framed(columns, batch.schema.names)


def _sink_each(frames: Iterator[pl.DataFrame], sink: Sink) -> None:
    """Write the rows in order while the next ones are read; those of one schema in one stream."""
    for schema, run in groupby(frames, lambda frame: frame.schema):
        rows = _joined(run)
        sink(register_io_source(lambda *_, rows=rows: rows, schema=schema))


def _joined(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    group: list[pl.DataFrame] = []
    size = 0.0
    for frame in frames:
        group.append(frame)
        size += frame.estimated_size()
        if len(group) == _MAX_JOINED or size > _SMALL_BYTES:
            yield pl.concat(group)
            group, size = [], 0.0
    if group:
        yield pl.concat(group)


def _text_of(column: pa.Array) -> pa.Array:
    return as_text(pa.RecordBatch.from_arrays([column], [""])).column(0)


def _framed(columns: list[pa.Array], names: list[str]) -> pl.DataFrame:
    return cast(pl.DataFrame, pl.from_arrow(pa.Table.from_arrays(columns, names)))


def _is_alike(column: pa.Array) -> bool:
    """Return whether polars writes the column as ``as_text`` does, only faster."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(column)).as_py() is not False  # None: all its cells are missing
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind))


def write_jsonl(file: pq.ParquetFile, out: IO[bytes]) -> None:
    """Write one object a line; rows that polars does not write as they have to be are written one by one."""
    frames = (_as_json_frame(batch) for batch in batches(file) if batch.num_rows and batch.num_columns)
    for is_plain, run in groupby(frames, lambda each: isinstance(each, pl.DataFrame)):
        if is_plain:
            _sink_each(cast(Iterator[pl.DataFrame], run), lambda rows: rows.sink_ndjson(out))
        else:
            out.writelines(_one_by_one(batch) for batch in run)


def write_records(file: pq.ParquetFile, out: IO[bytes]) -> None:
    rows = _Commas(out)
    write_jsonl(file, cast(IO[bytes], rows))
    out.write(b"[]\n" if rows.before == b"[\n" else b"\n]\n")


class _Commas:
    """Makes one list of lines of JSON."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self.before = b"[\n"

    def write(self, lines: bytes) -> int:
        if not lines:
            return 0
        is_whole = lines.endswith(b"\n")
        self._out.write(self.before)
        self._out.write(lines.removesuffix(b"\n").replace(b"\n", b",\n"))  # within a text it is \\n
        self.before = b",\n" if is_whole else b""
        return len(lines)

    def writelines(self, lines: Iterator[bytes]) -> None:
        for each in lines:
            self.write(each)

    def flush(self) -> None:
        self._out.flush()


def _as_json_frame(batch: pa.RecordBatch) -> pl.DataFrame | pa.RecordBatch:
    """Return the rows as polars has to write them; the batch itself if it cannot."""
    columns = [_as_json(column) for column in batch.columns]
    known = [column for column in columns if column is not None]
    return _framed(known, batch.schema.names) if len(known) == len(columns) else batch


def _as_json(column: pa.Array) -> pa.Array | None:
    """Return a column that polars writes as orjson does; None for one that it does not."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is None and kind.unit in ("s", "ms", "us"):
        seconds = column.cast(pa.timestamp("s"), safe=False)
        is_whole = pc.all(pc.equal(seconds.cast(kind), column)).as_py() is not False
        return _text_of(column) if is_whole else None
    if pa.types.is_floating(kind):
        return None if may_be_infinite(column) else column  # NaN is null
    return column if _is_alike(column) else None


def _one_by_one(batch: pa.RecordBatch) -> bytes:
    infinite = [name for name, column in zip(batch.schema.names, batch.columns, strict=True) if may_be_infinite(column)]
    lines = []
    for row in in_python(batch).to_pylist():
        for name in infinite:
            row[name] = with_infinities(row[name])
        lines.append(orjson.dumps(row, default=to_json, option=_JSON) + b"\n")
    return b"".join(lines)


def write_md(file: pq.ParquetFile, out: IO[bytes]) -> None:
    names = file.schema_arrow.names
    out.write(_pipes(names))
    out.write(_pipes(["---"] * len(names)))
    for row in _texts(file):
        out.write(_pipes(row))


def _pipes(cells: list[str]) -> bytes:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>") for cell in cells)
    return f"| {' | '.join(escaped)} |\n".encode()


def write_html(file: pq.ParquetFile, out: IO[bytes]) -> None:
    """Write a self-contained HTML page."""
    start = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Table</title><style>{_STYLE}</style>\n'
    out.write(f"{start}<table>\n<thead>{_row(file.schema_arrow.names, 'th')}</thead>\n<tbody>\n".encode())
    for row in _texts(file):
        out.write(f"{_row(row, 'td')}\n".encode())
    out.write(b"</tbody>\n</table>\n</html>\n")


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _texts(file: pq.ParquetFile) -> Iterator[list[str]]:
    for batch in batches(file):
        columns = [column.to_pylist() for column in as_text(batch).columns]
        for row in zip(*columns, strict=True):
            yield ["" if cell is None else cell for cell in row]


TEXT: dict[str, Write] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "records": write_records,
    "md": write_md,
    "html": write_html,
}
