"""Columns as text that is the same in every text form: ISO 8601 times, JSON for what is nested."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: Rows that are in memory at once.
BATCH_ROWS = 8192
_TIMES = (pa.types.is_timestamp, pa.types.is_time)
_AS_JSON = (pa.types.is_nested, pa.types.is_dictionary, pa.types.is_duration, pa.types.is_binary)
_AS_JSON_LARGE = (pa.types.is_large_binary, pa.types.is_fixed_size_binary)


def batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """The rows in order, a few thousand at a time."""
    yield from file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)


def as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every column as text, nulls as they are."""
    return pa.RecordBatch.from_arrays([_text(column) for column in batch.columns], batch.schema.names)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that have a type of their own in SQL and spreadsheets as they are, the others as text."""
    columns = [column if _is_plain(column.type) else _text(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def to_json(value: object) -> object:
    """What orjson does not know. Raises: TypeError."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (Decimal, timedelta)):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _is_plain(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _text(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if any(test(kind) for test in _TIMES):
        text = pc.replace_substring_regex(column.cast(pa.string()), r"\.(\d*?)0+(\D|$)", r".\1\2")
        text = pc.replace_substring_regex(text, r"\.(\D|$)", r"\1")
        return pc.replace_substring(text, " ", "T", max_replacements=1)
    if pa.types.is_floating(kind):
        return pc.replace_substring_regex(column.cast(pa.string()), r"^(-?\d+)$", r"\1.0")
    if any(test(kind) for test in (*_AS_JSON, *_AS_JSON_LARGE)):
        return pa.array([None if cell is None else _told(cell) for cell in column.to_pylist()], pa.large_string())
    return column.cast(pa.string())


def _told(cell: object) -> str:
    if isinstance(cell, (str, timedelta)):
        return str(cell)
    told = orjson.dumps(cell, default=to_json, option=orjson.OPT_NON_STR_KEYS).decode()
    return told.strip('"') if isinstance(cell, bytes) else told
