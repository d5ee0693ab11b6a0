"""How much the cells of an Arrow table take once they share nothing: added up before anything is expanded.

A dictionary, a run, a view and a list may each name the same bytes any number of times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .source import MAX_TABLE_BYTES, TableTooLarge

Floats = NDArray[np.float64]  #: whole numbers would overflow: sizes multiply at each level of nesting
Bytes = float | Floats  #: of each cell; one number where all take the same

#: Longer arrays of cells of different sizes cannot fit: each such cell takes 16 bytes in addition to its content.
_MAX_CELLS = MAX_TABLE_BYTES // 16


def check_expanded(table: pa.Table) -> None:
    """Refuse a table that is too large to work with. Raises: Unreadable."""
    size = sum(_total(chunk) for column in table.columns for chunk in column.chunks)
    if size > MAX_TABLE_BYTES:
        raise too_large(size)


def too_large(size: float) -> TableTooLarge:
    most = MAX_TABLE_BYTES // 1_000_000
    return TableTooLarge(f"the table takes {int(size / 1e6):,} MB in memory, at most {most} MB can be worked with")


def _total(array: Any) -> float:
    sizes = _sizes(array)
    return sizes * len(array) if isinstance(sizes, float) else float(sizes.sum())


def _sizes(array: Any) -> Bytes:  # noqa: PLR0911 - one answer for each kind
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _sizes(array.storage)
    if types.is_struct(kind):
        return sum((_sizes(array.field(at)) for at in range(kind.num_fields)), 0.0)
    if types.is_fixed_size_list(kind):
        return _of_fixed_lists(array)
    if types.is_null(kind) or _is_fixed(kind):
        return 1.0 if types.is_null(kind) else max(1.0, kind.bit_width / 8)
    if len(array) > _MAX_CELLS:
        raise too_large(16 * len(array))
    if types.is_dictionary(kind):
        return _of_dictionary(array)
    if types.is_run_end_encoded(kind):
        return _of_runs(array)
    if types.is_union(kind):
        return _of_union(array)
    return _of_lists(array) if types.is_nested(kind) else _of_texts(array)


def _is_fixed(kind: Any) -> bool:
    try:
        return bool(kind.bit_width >= 0) and not pa.types.is_dictionary(kind)
    except ValueError:
        return False


def _numbers(array: Any) -> Floats:
    numbers: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _of_texts(array: Any) -> Floats:
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        views = np.frombuffer(array.buffers()[1] or b"", dtype=np.int32).reshape(-1, 4)
        return views[array.offset : array.offset + len(array), 0].astype(np.float64)
    return _numbers(pc.fill_null(pc.binary_length(array), 0))


def _of_dictionary(array: Any) -> Bytes:
    sizes = _sizes(array.dictionary)
    if isinstance(sizes, float):
        return sizes
    # A missing cell takes nothing.
    places = pc.fill_null(array.indices.cast(pa.int64()), len(sizes)).to_numpy(zero_copy_only=False)
    picked: Floats = np.append(sizes, 0.0)[places]
    return picked


def _of_runs(array: Any) -> Bytes:
    sizes = _sizes(array.values)
    if isinstance(sizes, float):
        return sizes
    end = array.offset + len(array)
    runs = np.diff(np.minimum(_numbers(array.run_ends), end), prepend=0.0)
    cells: Floats = np.repeat(sizes, runs.astype(np.int64))[array.offset : end]
    return cells


def _of_union(array: Any) -> Floats:
    codes = array.type_codes.to_numpy()
    dense = array.type.mode == "dense"
    places = array.offsets.to_numpy() if dense else np.arange(len(array))
    sizes = np.zeros(len(array))
    for at, code in enumerate(array.type.type_codes):
        own = _sizes(array.field(at))
        chosen = codes == code
        sizes[chosen] = own if isinstance(own, float) else own[places[chosen]]
    return sizes


def _of_lists(array: Any) -> Floats:
    is_view = pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type)
    offsets = _numbers(array.offsets)
    begins, counts = (offsets, _numbers(array.sizes)) if is_view else (offsets[:-1], np.diff(offsets))
    sizes = _sizes(array.values)
    if isinstance(sizes, float):
        return counts * sizes
    sums = np.concatenate(([0.0], np.cumsum(sizes)))
    lists: Floats = sums[(begins + counts).astype(np.int64)] - sums[begins.astype(np.int64)]
    return lists


def _of_fixed_lists(array: Any) -> Bytes:
    each: int = array.type.list_size
    sizes = _sizes(array.values)
    if isinstance(sizes, float):
        return sizes * each
    begin = array.offset * each
    lists: Floats = sizes[begin : begin + each * len(array)].reshape(len(array), each).sum(axis=1)
    return lists
