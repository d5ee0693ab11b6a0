"""Parquet files larger than memory: described by the footer and a sample of rows; nothing else is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from .columnar import framed
from .columns import ColumnSummary, Distribution, profile
from .names import usable_names
from .source import Unreadable

_SAMPLED_GROUPS = 8  #: spread evenly over the file
_SAMPLED_ROWS = 10_000
_COPIED_ROWS = 100_000
_MAX_GROUP_BYTES = 2_000_000_000  #: unpacked; a group of rows is the least that is read of a column


@dataclass(frozen=True)
class LargeTable:
    """The description of a file whose rows are not read."""

    rows: int
    sample: pl.DataFrame  #: the first rows first
    profiles: list[ColumnSummary]  #: missing, least and greatest of the whole file, where its footer has them
    uncounted: frozenset[str]  #: columns whose number of missing cells is not in the footer, which does not count NaN


class NamesRepeat(Unreadable):
    """Several columns have one name, so that nothing can read one of them alone."""


def numbered_copy(source: BinaryIO, target: Path) -> list[str]:
    """Write the file again with its repeated names numbered, a few rows at a time; return notes on them.

    Raises: Unreadable.
    """
    try:
        with pq.ParquetFile(source) as file:
            names, notes = usable_names(file.schema_arrow.names)
            schema = pa.schema([field.with_name(name) for field, name in zip(file.schema_arrow, names, strict=True)])
            with pq.ParquetWriter(target, schema, compression="zstd", compression_level=1) as writer:
                for batch in file.iter_batches(_COPIED_ROWS):
                    writer.write_batch(batch.rename_columns(names))
    except (pa.ArrowException, OSError, OverflowError):
        raise Unreadable("the Parquet file is damaged") from None
    return notes


def claimed_bytes(source: pa.NativeFile) -> int:
    """Return the unpacked size according to the footer, in bytes; 0 when it cannot be read."""
    try:
        with pq.ParquetFile(source) as file:
            return sum(group.total_byte_size for group in _groups(file.metadata))
    except (pa.ArrowException, OSError, OverflowError):
        return 0


def look_at(source: pa.NativeFile) -> LargeTable:
    """Describe a file by its footer and a sample of its rows. Raises: Unreadable."""
    try:
        with pq.ParquetFile(source) as file:
            meta = file.metadata
            if usable_names(file.schema_arrow.names)[1]:
                raise NamesRepeat("two columns have one name")
            if max((group.total_byte_size for group in _groups(meta)), default=0) > _MAX_GROUP_BYTES:
                raise Unreadable("a row group unpacks to more than 2 GB: write the file with smaller row groups")
            sample = framed(pa.Table.from_batches(list(_sampled(file)), file.schema_arrow))
            summaries = {name: _GroupSummary() for name in sample.columns}
            for group in _groups(meta):
                _take_in(summaries, group)
    except (pa.ArrowException, OSError, OverflowError):
        raise Unreadable("the Parquet file is damaged") from None
    profiles = [_of_all(one, summaries[one.name]) for one in profile(sample)]
    uncounted = {name for name, one in summaries.items() if one.missing is None}
    uncounted |= {each.name for each in sample.iter_columns() if each.dtype.is_float() and each.is_nan().any()}
    return LargeTable(meta.num_rows, sample, profiles, frozenset(uncounted))


@dataclass
class _GroupSummary:
    """What the footer says of a column; None from the first row group on that does not say it."""

    missing: int | None = 0
    spans: list[tuple[object, object]] | None = None


def _groups(meta: pq.FileMetaData) -> Iterator[pq.RowGroupMetaData]:
    return map(meta.row_group, range(meta.num_row_groups))


def _sampled(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    count = file.metadata.num_row_groups
    numbers = sorted({at * count // _SAMPLED_GROUPS for at in range(_SAMPLED_GROUPS)})
    for number in numbers:
        yield from _first(file.iter_batches(_SAMPLED_ROWS // len(numbers), row_groups=[number]))


def _first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        return


def _take_in(summaries: dict[str, _GroupSummary], group: pq.RowGroupMetaData) -> None:
    for chunk in map(group.column, range(group.num_columns)):
        column = summaries.get(chunk.path_in_schema)
        if column is None:  # within a list or a struct
            continue
        stats = chunk.statistics
        counted = stats is not None and stats.has_null_count
        column.missing = column.missing + stats.null_count if counted and column.missing is not None else None
        if stats is not None and stats.has_min_max:
            column.spans = [*(column.spans or []), (stats.min, stats.max)]
        elif not counted or stats.null_count < chunk.num_values:
            column.missing = None


def _of_all(sampled: ColumnSummary, summary: _GroupSummary) -> ColumnSummary:
    """Return sampled counts and quartiles; the rest is that of the whole file, or left out."""
    spread = sampled.distribution
    if spread is not None:
        lows = [low for low, _ in summary.spans or [] if isinstance(low, type(spread.least))]
        highs = [high for _, high in summary.spans or [] if isinstance(high, type(spread.least))]
        complete = summary.missing is not None and lows and len(lows) == len(highs) == len(summary.spans or [])
        spread = Distribution(min(lows), max(highs), spread.quartiles) if complete else None  # type: ignore[type-var]
    return replace(sampled, missing=summary.missing or 0, sampled=True, distribution=spread)
