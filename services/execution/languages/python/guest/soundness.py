"""Whether an Arrow file that code made can be opened outside of a sandbox; runs in its own sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# pyarrow has no types for its arrays here, so those values are Any.

MAX_ROWS = 50_000_000
MAX_COLUMNS = 10_000
MAX_CELLS = 1 << 28
MAX_BYTES = 1 << 30  #: once nothing in it is packed or shared


@dataclass
class _Tally:
    """The size of a table with every cell spelled out. Small files may hold a great deal."""

    cells: int = 0
    bytes: int = 0

    def add(self, array: Any) -> None:
        import pyarrow
        from pyarrow import types

        kind = array.type
        self.cells += len(array)
        if self.cells > MAX_CELLS:
            raise OverflowError(f"it holds more than {MAX_CELLS} cells")
        if isinstance(kind, pyarrow.BaseExtensionType):
            self.add(array.storage)
        elif types.is_union(kind):
            raise TypeError("unions stay inside")
        elif types.is_struct(kind):
            for part in array.flatten():
                self.add(part)
        elif types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            self.add(_spelled_out(array))
        elif types.is_map(kind):
            self.add(array.keys)
            self.add(array.items)
        elif types.is_nested(kind):
            self.add(array.flatten())
        else:
            self.bytes += _spelled_out(array).nbytes
        if self.bytes > MAX_BYTES:
            raise OverflowError(f"it holds more than {MAX_BYTES} bytes")


def _spelled_out(array: Any) -> Any:
    """Return the array with nothing shared between its cells."""
    import pyarrow
    import pyarrow.compute
    from pyarrow import types

    if types.is_dictionary(array.type):
        return array.dictionary_decode()
    if types.is_run_end_encoded(array.type):
        return pyarrow.compute.run_end_decode(array)
    if types.is_string_view(array.type):
        return array.cast(pyarrow.large_string())
    return array.cast(pyarrow.large_binary()) if types.is_binary_view(array.type) else array


def demand_sound(source: Any) -> None:
    """Check a file. Raises: what is wrong with it; or this sandbox ends by its limits."""
    import pyarrow.ipc

    with pyarrow.ipc.open_file(source) as reader:
        if len(reader.schema) > MAX_COLUMNS:
            raise OverflowError(f"it has more than {MAX_COLUMNS} columns")
        tally, rows = _Tally(), 0
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            rows += batch.num_rows
            if rows > MAX_ROWS:
                raise OverflowError(f"it has more than {MAX_ROWS} rows")
            batch.validate(full=True)
            for column in batch.columns:
                tally.add(column)
