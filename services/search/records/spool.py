"""A file's records, read in a process with bounds: no parser of a stranger's bytes runs in the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from threading import Event as Flag
from typing import BinaryIO

from pydantic import JsonValue

from services.search.records.files import Item, read
from services.search.records.shape import Refused
from shared.bounded_process import BoundExceeded, Bounds, Cancelled, run
from shared.contracts.search import RecordMapping, TableSpec
from shared.errors import AssayError, InvalidRequest, JobCancelled, UnreadableFile

#: Files have hundreds of megabytes, of which a record at a time is in memory; a schedule is read whole.
_BOUNDS = Bounds(memory_mb=1024, cpu_seconds=600, wall_seconds=3600, output_mb=4096)
_MOST_RECORD = 16_000_000  #: characters, as JSON
_MOST_ENDING = 8192


@dataclass(frozen=True)
class SpooledRecords:
    """A file's records in their order, one JSON text a line; they may be gone through any number of times."""

    _spool: BinaryIO
    _count: int

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        self._spool.seek(0)
        for _ in range(self._count):
            line = json.loads(self._spool.readline())
            yield line if isinstance(line, dict) else Refused(*line)


@contextmanager
def spooled(
    source: BinaryIO,
    name: str,
    table: str,
    spec: TableSpec,
    cancelled: Flag,
    bounds: Bounds = _BOUNDS,
    mapping: RecordMapping | None = None,
) -> Iterator[SpooledRecords]:
    """Read the file, which is one of the file system; ``name`` is a format, or ``auto``.

    Raises: UnreadableFile, InvalidRequest, JobCancelled.
    """
    source.seek(0)
    with TemporaryFile() as spool:
        argument: dict[str, JsonValue] = {"name": name, "table": table, "spec": spec.model_dump(mode="json")}
        argument["mapping"] = None if mapping is None else mapping.model_dump(mode="json")
        try:
            run(write_records, argument, source, spool, bounds, cancelled)
        except BoundExceeded as fault:
            raise UnreadableFile(f"the file cannot be read: {fault}") from None
        except Cancelled:
            raise JobCancelled("the ingest was cancelled while its file was read") from None
        yield SpooledRecords(spool, _count(spool))


def _count(spool: BinaryIO) -> int:
    """The last line says how many records there are, or why there are none. Raises: UnreadableFile, InvalidRequest."""
    spool.seek(0, 2)
    spool.seek(max(0, spool.tell() - _MOST_ENDING))
    ending = json.loads(spool.read().splitlines()[-1])
    if "count" in ending:
        return int(ending["count"])
    raise (InvalidRequest if ending["code"] == InvalidRequest.code else UnreadableFile)(ending["detail"])


def write_records(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    """In the process: every record as a line, and the ending."""
    assert isinstance(argument, dict)
    ending: JsonValue
    count = 0
    try:
        spec = TableSpec.model_validate(argument["spec"])
        told = argument.get("mapping")
        mapping = None if told is None else RecordMapping.model_validate(told)
        for item in read(source, str(argument["name"]), str(argument["table"]), spec, mapping):
            output.write(_line(item))
            count += 1
    except AssayError as fault:
        ending = {"code": fault.code, "detail": fault.detail[:1000]}
    else:
        ending = {"count": count}
    output.write(json.dumps(ending).encode())
    return None


def _line(item: Item) -> bytes:
    text = json.dumps([item.code, item.message, item.id] if isinstance(item, Refused) else item)
    if len(text) > _MOST_RECORD:
        text = json.dumps(["too_large", f"the record has more than {_MOST_RECORD} characters", None])
    return text.encode() + b"\n"
