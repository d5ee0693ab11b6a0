"""A file's records, read in a process with limits: the worker itself parses no untrusted bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from threading import Event as Flag
from typing import BinaryIO

from pydantic import JsonValue

from services.search.records.shape import Raw, Refused
from shared.bounded_process import BoundExceeded, Bounds, Cancelled, run
from shared.contracts.search import RecordMapping, TableSpec
from shared.errors import InvalidRequest, JobCancelled, UnreadableFile

_WRITE = "services.search.records.writing:write_records"  #: the readers are loaded where they run
#: Files have hundreds of megabytes, of which a record at a time is in memory; tables of up to 48 MB are read whole.
_BOUNDS = Bounds(memory_mb=1024, cpu_seconds=600, wall_seconds=3600, output_mb=4096)
_MAX_ENDING = 100_000


@dataclass(frozen=True)
class SpooledRecords:
    """A file's records in their order, one JSON text a line; they may be gone through any number of times."""

    _spool: BinaryIO
    _count: int
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Raw | Refused]:
        self._spool.seek(0)
        for _ in range(self._count):
            line = json.loads(self._spool.readline())
            yield line if isinstance(line, dict) else Refused(*line)


@contextmanager
def spooled(  # noqa: PLR0913 - what the request says of the file
    source: BinaryIO,
    format: str,
    table: str,
    spec: TableSpec,
    cancelled: Flag,
    bounds: Bounds = _BOUNDS,
    mapping: RecordMapping | None = None,
    *,
    name: str = "",
    stated: Mapping[str, JsonValue] | None = None,
) -> Iterator[SpooledRecords]:
    """Read the file, which is one of the file system; ``name`` is its own, ``stated`` the options of the caller.

    Raises: UnreadableFile, InvalidRequest, JobCancelled.
    """
    source.seek(0)
    with TemporaryFile() as spool:
        argument: dict[str, JsonValue] = {
            "format": format, "table": table, "name": name, "stated": dict(stated or {}),
            "spec": spec.model_dump(mode="json"),
            "mapping": None if mapping is None else mapping.model_dump(mode="json"),
        }  # fmt: skip
        try:
            run(_WRITE, argument, source, spool, bounds, cancelled)
        except BoundExceeded as fault:
            raise UnreadableFile(f"the file cannot be read: {fault}") from None
        except Cancelled:
            raise JobCancelled("the ingest was cancelled while its file was read") from None
        yield SpooledRecords(spool, *_ending(spool))


def _ending(spool: BinaryIO) -> tuple[int, list[str]]:
    """Read the last line: the number of records and the notes, or the reason for a failure.

    Raises: UnreadableFile, InvalidRequest.
    """
    spool.seek(0, 2)
    spool.seek(max(0, spool.tell() - _MAX_ENDING))
    ending = json.loads(spool.read().splitlines()[-1])
    if "count" in ending:
        return int(ending["count"]), [str(note) for note in ending["notes"]]
    raise (InvalidRequest if ending["code"] == InvalidRequest.code else UnreadableFile)(ending["detail"])
