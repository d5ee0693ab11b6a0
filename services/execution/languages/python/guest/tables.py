"""Tables across the wall, by Arrow files: no pickles, no text."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from services.execution.languages.python.guest import lazy_tables
from services.execution.sandbox.guest.isolate import new_file
from services.execution.sandbox.guest.linux import map_privately
from services.execution.sandbox.protocol.wire import Json

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
    # Its class as it is, not as it says: that may raise.
    return pandas is not None and issubclass(type(value), pandas.DataFrame)


def to_arrow(value: Any, plain: bool = False) -> Any:
    """Return a pyarrow.Table; ``plain``: in types that are not pandas' own.

    Raises: what the libraries raise (pyarrow.ArrowInvalid for a mixed column).
    """
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
    return _from_pandas(value, plain)


def _from_pandas(frame: Any, plain: bool) -> Any:
    import pyarrow

    columns = {}
    for position, name in enumerate(_column_names(frame)):
        series = frame.iloc[:, position]
        if plain and _is_of_pandas_own(series.dtype):
            series = series.astype(object).map(str, na_action="ignore")
        try:
            columns[name] = pyarrow.Array.from_pandas(series)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError, OverflowError):
            # A column of mixed kinds or of integers beyond 64 bits, as pandas allows it: as text it is at least whole.
            columns[name] = pyarrow.array([None if missing(each) else str(each) for each in series], pyarrow.string())
    return pyarrow.table(columns) if columns else pyarrow.table({})


def _is_of_pandas_own(dtype: Any) -> bool:
    """Periods and intervals, also as categories: what ``pandas.cut`` makes."""
    held = getattr(getattr(dtype, "categories", dtype), "dtype", dtype)
    return type(held).__name__ in ("PeriodDtype", "IntervalDtype")


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
    """Return the frame with a named index (a groupby's keys) as columns: it is part of the table."""
    if type(frame).__module__.partition(".")[0] == "pandas" or _is_subclass(frame):
        named = [name for name in frame.index.names if name is not None]
        if named and not any(name in frame.columns for name in named):
            return frame.reset_index()
    return frame


def first_rows(value: Any, count: int) -> tuple[Any, int]:
    """Return the first rows as an Arrow table, and the number of all rows; nothing else is read."""
    name = type(value).__name__
    if name == "LazyFrame":
        import polars

        return value.head(count).collect().to_arrow(), int(value.select(polars.len()).collect().item())
    if name == "DuckDBPyRelation":
        return value.limit(count).to_arrow_table(), int(value.shape[0])
    if name in ("Table", "RecordBatch"):
        return to_arrow(value.slice(0, count)), int(value.num_rows)
    rows = len(value)
    return to_arrow(with_index(value.head(count))), rows


def left_behind(value: Any) -> list[Json]:
    """Return which parts of a table are lost when it is sent, as sentences."""
    if not _is_subclass(value) or type(value.index).__name__ == "RangeIndex":
        return []
    named = any(name is not None for name in value.index.names)
    return [] if named else ["its row labels, which have no name, stay behind"]


def write(value: object, path: str, plain: bool = False) -> int:
    """Write the table; the number of its rows."""
    import pyarrow.ipc

    table = to_arrow(with_index(value), plain)
    with pyarrow.OSFile(new_file(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return int(table.num_rows)


def given(frame: Mapping[str, Any], dataframe: str) -> Any:
    """Return a table of the request: an open file that was passed in, or a file at a path."""
    if "descriptor" not in frame:
        return read(str(frame["path"]), dataframe)
    if frame["dataframe"] == "file":
        return open(int(frame["descriptor"]), "rb")
    import pyarrow

    # Closed before there is code that could open its file again, for writing; what it changes here is its own copy.
    large = frame["dataframe"] == "parquet"
    with open(int(frame["descriptor"]), "rb") as handle:
        content = map_privately(handle.fileno(), writable=not large)
    if large:
        return lazy_tables.dataset(content) if dataframe == "arrow" else lazy_tables.scan(content)
    source = pyarrow.BufferReader(pyarrow.py_buffer(content))
    return mapped_frame(source, content) if dataframe == "pandas" else _as(source, dataframe)


def read(path: str, dataframe: str) -> Any:
    """Return the frame of an Arrow file, mapped rather than copied where the library can."""
    import pyarrow

    return _as(pyarrow.memory_map(path), dataframe)


def _as(source: Any, dataframe: str) -> Any:
    import pyarrow.ipc

    if dataframe == "source":
        return source
    table = pyarrow.ipc.open_file(source).read_all()
    if dataframe == "polars":
        import polars

        return polars.from_arrow(table)
    if dataframe == "arrow":
        return table
    return table.to_pandas()


def read_faithfully(path: str, dataframe: str) -> Any:
    """Read as ``read`` does, but keep the types of whole numbers and booleans with gaps."""
    if dataframe != "pandas":
        return read(path, dataframe)
    import pandas
    import pyarrow
    import pyarrow.ipc

    table = pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all()
    gaps = {field.type for field, column in zip(table.schema, table.columns, strict=True) if column.null_count}
    nullable = {
        getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")()
        for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    }
    nullable[pyarrow.bool_()] = pandas.BooleanDtype()
    return table.to_pandas(types_mapper=lambda kind: nullable.get(kind) if kind in gaps else None)


_MAX_COLUMNS = 100  #: pandas is slow with more arrays than that; it copies them into few instead


def mapped_frame(source: Any, content: memoryview) -> Any:
    """Return the frame of the file in ``content``, a private mapping: its arrays can be written to like any others."""
    import numpy
    import pyarrow.ipc

    table = pyarrow.ipc.open_file(source).read_all()
    if table.num_columns > _MAX_COLUMNS:
        return _whole_inside(table.to_pandas(), table)
    frame = table.to_pandas(split_blocks=True)
    start = numpy.frombuffer(content, numpy.uint8).__array_interface__["data"][0]
    for block in frame._mgr.blocks:
        values = block.values
        if not isinstance(values, numpy.ndarray):
            block.values = values.copy()  # text shares its buffers with the table all the same
        elif not values.flags.writeable:
            offset = values.__array_interface__["data"][0] - start
            inside = values.flags.c_contiguous and 0 <= offset <= len(content) - values.nbytes
            block.values = _over(content, values, offset) if inside else values.copy()
    return _whole_inside(frame, table)


def _whole_inside(frame: Any, table: Any) -> Any:
    """Keep whole numbers within lists and structs whole next to missing ones."""
    from pyarrow import types

    for position, field in enumerate(table.schema):
        if types.is_nested(field.type):
            frame.isetitem(position, table.column(position).to_pandas(integer_object_nulls=True))
    return frame


def _over(content: memoryview, values: Any, offset: int) -> Any:
    import numpy

    return numpy.frombuffer(content, values.dtype, values.size, offset).reshape(values.shape)
