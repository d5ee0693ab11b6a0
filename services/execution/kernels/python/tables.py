"""Tables across the wall, by Arrow files: no pickles, no text."""

from __future__ import annotations

import sys
from typing import Any

# The libraries are looked up where the zygote loaded them: importing this module must not import them.


def is_table(value: object) -> bool:
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    names = {
        "pandas": ("DataFrame",),
        "polars": ("DataFrame", "LazyFrame"),
        "pyarrow": ("Table", "RecordBatch"),
        "duckdb": ("DuckDBPyRelation",),
        "_duckdb": ("DuckDBPyRelation",),
    }
    return any(base.__name__ in names.get(module, ()) for base in kind.__mro__) or _is_subclass(value)


def _is_subclass(value: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def to_arrow(value: Any) -> Any:
    """A pyarrow.Table. Raises: what the libraries raise (pyarrow.ArrowInvalid for a mixed column)."""
    import pyarrow

    if isinstance(value, pyarrow.Table):
        return value
    if isinstance(value, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([value])
    module = type(value).__module__.partition(".")[0]
    if module == "polars":
        frame = value.collect() if type(value).__name__ == "LazyFrame" else value
        return frame.to_arrow()
    if module in ("duckdb", "_duckdb"):
        return value.to_arrow_table()
    return _from_pandas(value)


def _from_pandas(frame: Any) -> Any:
    import pyarrow

    columns = {}
    for position, name in enumerate(_column_names(frame)):
        series = frame.iloc[:, position]
        try:
            columns[name] = pyarrow.Array.from_pandas(series)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError, OverflowError):
            # A column of mixed kinds or of integers beyond 64 bits, as pandas allows it: as text it is at least whole.
            columns[name] = pyarrow.array([None if missing(each) else str(each) for each in series], pyarrow.string())
    return pyarrow.table(columns) if columns else pyarrow.table({})


def missing(value: Any) -> bool:
    import pandas

    try:
        return bool(pandas.isna(value))
    except (TypeError, ValueError):
        return False


def _column_names(frame: Any) -> list[str]:
    """Flat, distinct names: levels are joined, a second ``a`` becomes ``a_1``."""
    names: list[str] = []
    for label in frame.columns:
        base = "_".join(str(part) for part in label) if isinstance(label, tuple) else str(label)
        name, number = base, 0
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return names


def with_index(frame: Any) -> Any:
    """The index as columns when it carries names (a groupby's keys): it is part of the table then."""
    if type(frame).__module__.partition(".")[0] == "pandas" or _is_subclass(frame):
        named = [name for name in frame.index.names if name is not None]
        if named and not any(name in frame.columns for name in named):
            return frame.reset_index()
    return frame


def write(value: object, path: str) -> int:
    """Write the table; the number of its rows."""
    import pyarrow.ipc

    table = to_arrow(with_index(value))
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return int(table.num_rows)


def read(path: str, dataframe: str) -> Any:
    """The frame behind an Arrow file, mapped rather than copied where the library can."""
    import pyarrow
    import pyarrow.ipc

    table = pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all()
    if dataframe == "polars":
        import polars

        return polars.from_arrow(table)
    if dataframe == "arrow":
        return table
    return table.to_pandas()
