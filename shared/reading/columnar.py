"""Parquet and Arrow: typed already; their claims are checked before anything is unpacked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from .names import usable_names
from .portable import portable
from .sizes import check_expanded
from .source import MAX_CELLS, MAX_ROWS, MAX_TABLE_BYTES, MAX_UNPACKED_BYTES, TableTooLarge, Unreadable

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  #: kinds of message, from the format's Message.fbs
#: Of the buffers of an Arrow file, which are in memory at once; a table that fits takes at least half of them.
_MAX_ARROW_BYTES = 2 * MAX_TABLE_BYTES
_TAIL = 10  #: bytes behind the footer of the file form: its length, and six letters
_CONTINUES = 0xFFFFFFFF  #: before the length of a message, in all but old files


def read_parquet(source: Path | pa.NativeFile) -> tuple[pl.DataFrame, list[str]]:
    """Read a Parquet file; also return notes on its names. Raises: Unreadable."""
    try:
        with pq.ParquetFile(source) as file:
            meta = file.metadata
            unpacked = sum(meta.row_group(index).total_byte_size for index in range(meta.num_row_groups))
            names = [field.name for field in file.schema_arrow]
            check_size(meta.num_rows, len(names), unpacked)
            _, notes = usable_names(names)
        with pq.ParquetFile(source, read_dictionary=_repeating(meta)) as file:
            table = file.read()
        table.validate()
    except (pa.ArrowException, OSError, OverflowError):
        raise Unreadable("the Parquet file is damaged") from None
    return framed(table), notes


def _repeating(meta: pq.FileMetaData) -> list[str]:
    """Return the columns of text whose dictionary could make them too large: they are read with it, and expanded if
    they fit.
    """
    names = set()
    for group in map(meta.row_group, range(meta.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            most = chunk.num_values * chunk.total_uncompressed_size
            if chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY" and most > MAX_TABLE_BYTES:
                names.add(chunk.path_in_schema)
    return sorted(names)


def read_arrow(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read Arrow IPC, the file or the stream form; also return notes on its names. Raises: Unreadable."""
    try:
        with path.open("rb") as file:
            is_file = file.read(6) == b"ARROW1"
        rows = unpacked = 0
        for more_rows, more_bytes in _claimed_sizes(path, is_file):
            rows, unpacked = rows + more_rows, unpacked + more_bytes
            check_size(rows, 1, unpacked, _MAX_ARROW_BYTES)
        with pa.OSFile(str(path)) as source:
            reader = pa_ipc.open_file(source) if is_file else pa_ipc.open_stream(source)
            _, notes = usable_names(reader.schema.names)
            table = pa.Table.from_batches(_bounded(reader), reader.schema)
        table.validate(full=True)
    except (pa.ArrowException, OSError, OverflowError, ValueError, IndexError, struct.error):
        raise Unreadable("the Arrow file is damaged") from None
    return framed(table), notes


def _bounded(reader: pa_ipc.RecordBatchFileReader | pa_ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    """Batch after batch: the list at the end of a file may name the same one any number of times."""
    rows = unpacked = 0
    is_file = isinstance(reader, pa_ipc.RecordBatchFileReader)
    batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
    for batch in batches:
        rows, unpacked = rows + batch.num_rows, unpacked + batch.nbytes
        check_size(rows, batch.num_columns, unpacked, _MAX_ARROW_BYTES)
        yield batch


def check_size(rows: int, columns: int, unpacked: int = 0, most: int = MAX_UNPACKED_BYTES) -> None:
    """Refuse a table that is too large to work with. Raises: TableTooLarge."""
    if rows > MAX_ROWS or rows * columns > MAX_CELLS:
        raise TableTooLarge(f"there are {rows:,} rows of {columns:,} columns, more than can be worked with")
    if unpacked > most:
        raise TableTooLarge(f"the data unpack to {unpacked / 1e9:.1f} GB, at most {most / 1e9:g} GB can be worked with")


def framed(table: pa.Table) -> pl.DataFrame:
    check_expanded(table)
    try:
        frame = portable(table)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, TypeError, ValueError) as error:
        raise Unreadable(f"a column has a type that is not understood: {error}") from None
    if frame.width == 0:
        raise Unreadable("there are no columns")
    if frame.height == 0:
        raise Unreadable("there are columns but no rows")
    return frame


def _claimed_sizes(path: Path, is_file: bool) -> Iterator[tuple[int, int]]:
    """Yield rows and unpacked bytes of each message. Raises: pa.ArrowException, OSError, struct.error."""
    with pa.memory_map(str(path)) as source:
        for metadata, body in _of_file(source) if is_file else _of_stream(source):
            message = _Table.root(metadata)
            kind = message.number(1, "<B")
            if kind == _DICTIONARY_BATCH:
                yield 0, _unpacked(message.table(2).table(1), body)
            elif kind == _RECORD_BATCH:
                batch = message.table(2)
                yield batch.number(0, "<q"), _unpacked(batch, body)


def _of_stream(source: pa.NativeFile) -> Iterator[tuple[bytes, memoryview]]:
    reader = pa_ipc.MessageReader.open_stream(source)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        yield message.metadata.to_pybytes(), memoryview(message.body if message.body is not None else b"")


def _of_file(source: pa.NativeFile) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the messages that the footer lists, as often as it lists them."""
    end = source.size() - _TAIL
    (length,) = struct.unpack("<i", source.read_at(4, end))
    footer = _Table.root(source.read_at(length, end - length))
    for field in (2, 3):  # dictionaries, record batches
        for offset, metadata_length, body_length in footer.structs(field, "<qi4xq"):
            metadata = source.read_at(metadata_length, offset)
            continues = struct.unpack_from("<I", metadata)[0] == _CONTINUES
            source.seek(offset + metadata_length)
            body = source.read_buffer(body_length)  # a part of the mapped file, not a copy
            yield metadata[8 if continues else 4 :], memoryview(body)


def _unpacked(batch: _Table, body: memoryview) -> int:
    """Return the sum of the batch's buffers; a packed one begins with its size, -1 when it is not packed after all."""
    total = 0
    packed = batch.has(3)
    for offset, length in batch.structs(2, "<qq"):
        size = struct.unpack_from("<q", body, offset)[0] if packed and length >= 8 else length
        total += size if size >= 0 else length
    return total


class _Table:
    """A table of a flatbuffer: fields by number, through an index of their offsets."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place
        self._index = place - struct.unpack_from("<i", data, place)[0]
        self._fields = (struct.unpack_from("<H", data, self._index)[0] - 4) // 2

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _at(self, field: int) -> int:
        """Return the offset of the field; 0 when it is left out."""
        if field >= self._fields:
            return 0
        offset: int = struct.unpack_from("<H", self._data, self._index + 4 + 2 * field)[0]
        return self._place + offset if offset else 0

    def has(self, field: int) -> bool:
        return self._at(field) != 0

    def number(self, field: int, form: str) -> int:
        at = self._at(field)
        value: int = struct.unpack_from(form, self._data, at)[0] if at else 0
        return value

    def table(self, field: int) -> _Table:
        at = self._at(field)
        return _Table(self._data, at + struct.unpack_from("<I", self._data, at)[0])

    def structs(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """Yield the structs of numbers of a list."""
        at = self._at(field)
        if at:
            start = at + struct.unpack_from("<I", self._data, at)[0]
            (count,) = struct.unpack_from("<I", self._data, start)
            yield from struct.iter_unpack(form, self._data[start + 4 : start + 4 + struct.calcsize(form) * count])
