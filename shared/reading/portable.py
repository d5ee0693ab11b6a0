"""Arrow tables as polars frames that can be worked with: whatever polars has no kind for becomes one that it has.

Polars does not only refuse such columns, it panics: nothing of code's or a file's making may reach it unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as pa_ipc

from .names import numbered

# pyarrow has no types for its arrays here, so those values are Any.

_UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    pa.ArrowException,
    ValueError,
    TypeError,
    OverflowError,
)
#: What Python has dates, moments, spans and times of day for, in each unit; polars takes more, and panics later.
_DAYS = (-719_162, 2_932_896)
_SECONDS = (_DAYS[0] * 86_400, (_DAYS[1] + 1) * 86_400 - 1)
_SPAN_SECONDS = (-999_999_999 * 86_400, 999_999_999 * 86_400)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_portable(path: Path) -> pl.DataFrame:
    """Return the frame of an Arrow file that is known to be consistent."""
    with pa.memory_map(str(path)) as source:
        return portable(pa_ipc.open_file(source).read_all())


def write_portable(frame: pl.DataFrame, path: Path) -> None:
    """Write an uncompressed Arrow file without views, which pandas cannot load within lists."""
    frame.write_ipc(path, compression="uncompressed", compat_level=pl.CompatLevel.oldest())


def portable(table: pa.Table) -> pl.DataFrame:
    """Return the frame; a column that polars cannot hold becomes text. Raises: what the libraries raise for broken
    tables.
    """
    return pl.DataFrame([_series(name, table.column(at)) for at, name in enumerate(numbered(table.column_names))])


def _series(name: str, column: Any) -> pl.Series:
    try:
        chunks = [_plain(chunk) for chunk in column.chunks]
        return _taken(name, pa.chunked_array(chunks) if chunks else pa.chunked_array([], column.type))
    except _UNREADABLE:
        return pl.Series(name, [None if cell is None else _text(cell) for cell in _cells(column)], dtype=pl.String)


def _taken(name: str, column: Any) -> pl.Series:
    if not all(_fits_python(leaf) for chunk in column.chunks for leaf in _leaves(chunk)):
        raise ValueError("moments that Python has no word for")
    series = pl.from_arrow(column)
    assert isinstance(series, pl.Series)
    return series.alias(name)


def _plain(array: Any) -> Any:  # noqa: PLR0911 - one answer for each kind
    """Return the array in a type that polars knows, as far as its outermost kind goes."""
    kind, types = array.type, pa.types
    if _is_extension(kind):
        return _plain(_of_extension(array))
    if types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(array))
    if types.is_decimal256(kind) or (types.is_decimal(kind) and kind.scale < 0):
        return array.cast(pa.decimal128(38, max(0, kind.scale)))
    if types.is_timestamp(kind) and not _is_known_zone(kind.tz):
        return array.cast(pa.timestamp(kind.unit, "UTC"))  # the moment is the same
    if types.is_map(kind):
        entries = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _plain(array.cast(pa.list_(entries)))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return _plain(pa.array(array.to_pylist(), pa.large_list(kind.value_type)))
    if types.is_interval(kind) or types.is_union(kind) or _is_odd(kind):
        raise TypeError(f"{kind} becomes text")
    return array


def _is_odd(kind: Any) -> bool:
    """Return whether something within the type is of a kind that polars panics over."""
    types = pa.types
    if types.is_struct(kind):
        names = [field.name for field in kind]
        return len(set(names)) < max(1, len(names)) or any(_is_odd_within(field.type) for field in kind)
    if types.is_fixed_size_list(kind) and kind.list_size == 0:
        return True
    return types.is_nested(kind) and _is_odd_within(kind.value_type)


def _is_odd_within(kind: Any) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return not _is_known_zone(kind.tz)
    odd = types.is_interval(kind) or types.is_decimal256(kind) or types.is_map(kind) or types.is_union(kind)
    odd = odd or types.is_list_view(kind) or types.is_large_list_view(kind) or types.is_run_end_encoded(kind)
    return odd or types.is_dictionary(kind) or _is_extension(kind) or _is_odd(kind)


def _is_extension(kind: Any) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


def _of_extension(array: Any) -> Any:
    """Return the type in which an extension type keeps its values, where that means the same."""
    name = array.type.extension_name
    if name == "arrow.bool8":
        return array.storage.cast(pa.bool_())
    if name in ("arrow.json", "arrow.opaque"):
        return array.storage
    raise TypeError(f"{name} becomes text")


def _is_known_zone(zone: str | None) -> bool:
    if zone is None:
        return True
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _leaves(array: Any) -> Iterator[Any]:
    types = pa.types
    if types.is_struct(array.type):
        for part in array.flatten():
            yield from _leaves(part)
    elif types.is_nested(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array


def _fits_python(leaf: Any) -> bool:
    kind, types = leaf.type, pa.types
    if types.is_date(kind):
        least, most = _DAYS
        whole = leaf.cast(pa.date32()).cast(pa.int32())
    elif types.is_timestamp(kind) or types.is_duration(kind):
        bounds = _SECONDS if types.is_timestamp(kind) else _SPAN_SECONDS
        least, most = (bound * _PER_SECOND[kind.unit] for bound in bounds)
        most += _PER_SECOND[kind.unit] - 1
        whole = leaf.cast(pa.int64())
    elif types.is_time(kind):
        least, most = 0, 86_400 * _PER_SECOND[kind.unit] - 1
        whole = leaf.cast(pa.int32() if types.is_time32(kind) else pa.int64())
    else:
        return True
    extent = pc.min_max(whole).as_py()
    return extent["min"] is None or least <= extent["min"] <= extent["max"] <= most


def _cells(column: Any) -> Iterator[object]:
    """Yield each cell as Python has it; where Python has no such value, the number that is stored."""
    for chunk in column.chunks:
        for scalar in chunk:
            try:
                yield scalar.as_py()
            except (ValueError, OverflowError, pa.ArrowException):
                yield getattr(scalar, "value", "?")


def _text(cell: object) -> str:
    if isinstance(cell, pa.MonthDayNano):
        return f"{cell.months} months {cell.days} days {cell.nanoseconds / 1e9:g} seconds"
    return json.dumps(cell, ensure_ascii=False, default=str) if isinstance(cell, (list, dict)) else str(cell)
