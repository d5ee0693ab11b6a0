"""Parquet files that are read lazily: mapped, never copied, one batch in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_BATCH_ROWS = 131_072

# pyarrow and polars have no types here, so what is theirs is Any; importing this module must not import them.


def dataset(content: memoryview) -> Any:
    """Return a pyarrow dataset of one file, from which DuckDB reads only the columns and rows that a query names."""
    import pyarrow
    import pyarrow.dataset

    form = pyarrow.dataset.ParquetFileFormat()
    fragment = form.make_fragment(_source(content))
    return pyarrow.dataset.FileSystemDataset([fragment], fragment.physical_schema, form)


def scan(content: memoryview) -> Any:
    """Return a polars LazyFrame whose ``collect`` streams, and reads only the columns that are used."""
    import polars
    import pyarrow.parquet
    from polars.io.plugins import register_io_source

    def batches(columns: list[str] | None, predicate: Any, rows: int | None, batch_rows: int | None) -> Iterator[Any]:
        with pyarrow.parquet.ParquetFile(_source(content)) as file:
            for batch in file.iter_batches(batch_size=batch_rows or _BATCH_ROWS, columns=columns):
                frame: Any = polars.from_arrow(batch)
                if rows is not None:
                    frame = frame.head(rows)
                    rows -= frame.height
                yield frame if predicate is None else frame.filter(predicate)
                if rows == 0:
                    return

    with pyarrow.parquet.ParquetFile(_source(content)) as file:
        empty: Any = polars.from_arrow(file.schema_arrow.empty_table())
    polars.Config.set_engine_affinity("streaming")
    return register_io_source(batches, schema=empty.schema)


def _source(content: memoryview) -> Any:
    import pyarrow

    return pyarrow.BufferReader(pyarrow.py_buffer(content))
