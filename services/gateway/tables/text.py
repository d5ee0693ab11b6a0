"""CSV, TSV, JSON, JSON lines, Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import IO

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.gateway.tables.cells import as_text, batches, in_python, may_be_infinite, to_json, with_infinities

Write = Callable[[pq.ParquetFile, IO[bytes]], None]
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
    head = pa.RecordBatch.from_pydict({f"c{i}": [name] for i, name in enumerate(file.schema_arrow.names)})
    if not head.num_columns:
        return
    out.write(_lines(head, delimiter))
    for batch in batches(file):
        out.write(_lines(as_text(batch), delimiter))


def _lines(rows: pa.RecordBatch, delimiter: str) -> bytes:
    cells = [_quoted(column.cast(pa.large_string()), delimiter) for column in rows.columns]
    lines = pc.binary_join_element_wise(*cells, _large(delimiter), null_handling="replace", null_replacement="")
    return b"".join(line + b"\n" for line in lines.cast(pa.large_binary()).to_pylist())


def _quoted(cells: pa.Array, delimiter: str) -> pa.Array:
    special = pc.or_(pc.match_substring_regex(cells, f'[{delimiter}"\r\n]'), pc.equal(cells, ""))
    doubled = pc.replace_substring(cells, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(_large('"'), doubled, _large('"'), _large("")), cells)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def write_jsonl(file: pq.ParquetFile, out: IO[bytes]) -> None:
    for line in _objects(file):
        out.write(line + b"\n")


def write_records(file: pq.ParquetFile, out: IO[bytes]) -> None:
    before = b"[\n"
    for line in _objects(file):
        out.write(before + line)
        before = b",\n"
    out.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _objects(file: pq.ParquetFile) -> Iterator[bytes]:
    for batch in batches(file):
        infinite = [
            name for name, column in zip(batch.schema.names, batch.columns, strict=True) if may_be_infinite(column)
        ]
        for row in in_python(batch).to_pylist():
            for name in infinite:
                row[name] = with_infinities(row[name])
            yield orjson.dumps(row, default=to_json, option=_JSON)


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
