"""Tables that polars reads and writes whole: small ones, with columns of plain types alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

_MAX_BYTES = 200_000_000
_DELIMITERS: Mapping[str, str] = {"csv": ",", "tsv": "\t"}
_CELL_BYTES = 16  #: of a view of a text, which shares its bytes with others that are alike


def write_plain(form: str, file: pq.ParquetFile, source: BinaryIO, out: IO[bytes]) -> bool:
    """Return whether the rows of ``source``, which ``file`` reads, were written: not where another way is needed."""
    frame = _plain_frame(file, source) if form in _DELIMITERS else None
    if frame is None or not _is_finite(frame):
        return False
    names = pl.DataFrame([frame.columns], orient="row")
    for rows in (names, frame):
        rows.write_csv(out, include_header=False, separator=_DELIMITERS[form])
    return True


def _plain_frame(file: pq.ParquetFile, source: BinaryIO) -> pl.DataFrame | None:
    meta, schema = file.metadata, file.schema_arrow
    packed = sum(meta.row_group(index).total_byte_size for index in range(meta.num_row_groups))
    if not all(map(_is_plain, schema.types)) or not schema.names or schema.metadata:
        return None
    if packed + meta.num_rows * len(schema.names) * _CELL_BYTES > _MAX_BYTES:
        return None
    try:
        frame = pl.read_parquet(f"/proc/self/fd/{source.fileno()}", glob=False)
    except pl.exceptions.PolarsError:
        return None
    return frame if frame.columns == schema.names else None


def _is_finite(frame: pl.DataFrame) -> bool:
    floats = [column for column in frame.iter_columns() if column.dtype.is_float()]
    return all(column.is_finite().all() for column in floats)


def _is_plain(kind: pa.DataType) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_number or is_text or pa.types.is_boolean(kind) or pa.types.is_date32(kind))
