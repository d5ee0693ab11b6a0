"""Columns as text that is the same in every text form: ISO 8601 times, JSON for what is nested."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


def batches(file: pq.ParquetFile, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, a few thousand at a time; the next ones are read while these are written."""
    source = file.iter_batches(batch_size=rows, use_threads=False)
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = ahead.submit(next, source, None)
            yield batch


def as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return every column as text, nulls as they are."""
    return pa.RecordBatch.from_arrays([_text(column) for column in batch.columns], batch.schema.names)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return columns that have a matching type in SQL and spreadsheets unchanged, and the others as text."""
    columns = [column if _is_plain(column.type) else _text(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def in_python(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns with text for what Python's types would cut: times in nanoseconds."""
    columns = [_text(column) if _is_finer(column.type) else _without_finer(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def infinity_as_text(value: float) -> float | str:
    """Return the number, or ``Infinity``, which JSON has no number for; NaN becomes null, as it means missing."""
    return value if abs(value) != math.inf else f"{'-' * (value < 0)}Infinity"


def may_be_infinite(column: pa.Array) -> bool:
    """Return whether a cell, or a part of one, may be infinite."""
    if pa.types.is_floating(column.type):
        return bool(pc.any(pc.is_inf(column)).as_py())
    return _has_floats(column.type)


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_floats(field.type) for field in kind)
    return (
        _has_floats(kind.value_type)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind)
        else (pa.types.is_floating(kind))
    )


def with_infinities(cell: object) -> object:
    """Return the cell with text for each infinity in it."""
    if isinstance(cell, float):
        return infinity_as_text(cell)
    if isinstance(cell, list):
        return [with_infinities(each) for each in cell]
    return {key: with_infinities(each) for key, each in cell.items()} if isinstance(cell, dict) else cell


def to_json(value: object) -> object:
    """Return what orjson does not know. Raises: TypeError."""
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


def _is_finer(kind: pa.DataType) -> bool:
    is_time = pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind)
    return bool(is_time and kind.unit == "ns")


def _without_finer(column: pa.Array) -> pa.Array:
    kind = _with_text(column.type)
    return column if kind.equals(column.type) else column.cast(kind)


def _with_text(kind: pa.DataType) -> pa.DataType:
    """Return the nested type with text instead of times in nanoseconds."""
    if _is_finer(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(_with_text(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_text(field.type)) for field in kind])
    return kind


def _text(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.array(map(_duration, column.cast(pa.int64()).to_pylist()), pa.large_string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    if any(test(kind) for test in _TIMES):
        return _iso(column)
    if pa.types.is_floating(kind):
        return pc.replace_substring_regex(column.cast(pa.string()), r"^(-?\d+)$", r"\1.0")
    if any(test(kind) for test in (*_AS_JSON, *_AS_JSON_LARGE)):
        cells = _without_finer(column).to_pylist()
        return pa.array([None if cell is None else _as_json(cell) for cell in cells], pa.large_string())
    return column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.string())


def _iso(column: pa.Array) -> pa.Array:
    text = pc.replace_substring_regex(column.cast(pa.string()), r"\.(\d*?)0+(\D|$)", r".\1\2")
    text = pc.replace_substring_regex(text, r"\.(\D|$)", r"\1")
    return pc.replace_substring(text, " ", "T", max_replacements=1)


def _duration(nanoseconds: int | None) -> str | None:
    """Format a duration as Python does, with up to nine decimals."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(nanoseconds, 10**9)
    return str(timedelta(seconds=seconds)) + (f".{rest:09}".rstrip("0") if rest else "")


def _as_json(cell: object) -> str:
    if isinstance(cell, (str, timedelta)):
        return str(cell)
    encoded = orjson.dumps(with_infinities(cell), default=to_json, option=orjson.OPT_NON_STR_KEYS).decode()
    return encoded.strip('"') if isinstance(cell, bytes) else encoded
