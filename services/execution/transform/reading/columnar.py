"""Parquet and Arrow: typed already; their claims are checked before anything is unpacked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from .claims import claimed_sizes
from .delimited import check_names
from .failure import MOST_CELLS, MOST_ROWS, MOST_UNPACKED_BYTES, Unreadable
from .portable import portable


def read_parquet(path: Path) -> pl.DataFrame:
    """Raises: Unreadable."""
    try:
        with pq.ParquetFile(path) as file:
            meta = file.metadata
            unpacked = sum(meta.row_group(index).total_byte_size for index in range(meta.num_row_groups))
            names = [field.name for field in file.schema_arrow]
            check_size(meta.num_rows, len(names), unpacked)
            check_names(names)
            table = file.read()
        table.validate()
    except (pa.ArrowException, OSError, OverflowError):
        raise Unreadable("the Parquet file is damaged") from None
    return framed(table)


def read_arrow(path: Path) -> pl.DataFrame:
    """Arrow IPC, the file or the stream form. Raises: Unreadable."""
    try:
        with path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
        rows = unpacked = 0
        for more_rows, more_bytes in claimed_sizes(path, is_file):
            rows, unpacked = rows + more_rows, unpacked + more_bytes
            check_size(rows, 1, unpacked)
        with pa.OSFile(str(path)) as source:
            reader = pa_ipc.open_file(source) if is_file else pa_ipc.open_stream(source)
            check_names(reader.schema.names)
            table = pa.Table.from_batches(_bounded(reader), reader.schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, OverflowError, ValueError, IndexError, struct.error):
        raise Unreadable("the Arrow file is damaged") from None
    return framed(table)


def _bounded(reader: pa_ipc.RecordBatchFileReader | pa_ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    """Batch after batch: the list at the end of a file may name the same one any number of times."""
    rows = unpacked = 0
    is_file = isinstance(reader, pa_ipc.RecordBatchFileReader)
    batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
    for batch in batches:
        rows, unpacked = rows + batch.num_rows, unpacked + batch.nbytes
        check_size(rows, batch.num_columns, unpacked)
        yield batch


def check_size(rows: int, columns: int, unpacked: int = 0) -> None:
    """Raises: Unreadable when the table is more than can be worked with."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise Unreadable(f"there are {rows:,} rows of {columns:,} columns, more than can be worked with")
    if unpacked > MOST_UNPACKED_BYTES:
        raise Unreadable(f"the data unpack to {unpacked / 1e9:.1f} GB, at most 2 GB can be worked with")


def framed(table: pa.Table) -> pl.DataFrame:
    try:
        frame = portable(table)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, TypeError, ValueError) as error:
        raise Unreadable(f"a column has a type that is not understood: {error}") from None
    if frame.width == 0:
        raise Unreadable("there are no columns")
    if frame.height == 0:
        raise Unreadable("there are columns but no rows")
    return frame
