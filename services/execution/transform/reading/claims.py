"""How large an Arrow file says that it is once unpacked: read from its messages, before anything is unpacked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as pa_ipc

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  #: kinds of message, from the format's Message.fbs
_TAIL = 10  #: bytes behind the footer of the file form: its length, and six letters
_CONTINUES = 0xFFFFFFFF  #: before the length of a message, in all but old files


def claimed_sizes(path: Path, is_file: bool) -> Iterator[tuple[int, int]]:
    """Rows and unpacked bytes of one message after another. Raises: pa.ArrowException, OSError, struct.error."""
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
    """The messages that the footer lists, as often as it lists them."""
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
    """The sum of the batch's buffers; a packed one begins with its size, -1 when it is not packed after all."""
    total = 0
    packed = batch.has(3)
    for offset, length in batch.structs(2, "<qq"):
        size = struct.unpack_from("<q", body, offset)[0] if packed and length >= 8 else length
        total += size if size >= 0 else length
    return total


class _Table:
    """A table of a flatbuffer: fields by number, through an index of where each one stands."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place
        self._index = place - struct.unpack_from("<i", data, place)[0]
        self._fields = (struct.unpack_from("<H", data, self._index)[0] - 4) // 2

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _at(self, field: int) -> int:
        """Where the field stands; 0 when it is left out."""
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
        """A list of structs of numbers."""
        at = self._at(field)
        if at:
            start = at + struct.unpack_from("<I", self._data, at)[0]
            (count,) = struct.unpack_from("<I", self._data, start)
            yield from struct.iter_unpack(form, self._data[start + 4 : start + 4 + struct.calcsize(form) * count])
