"""A table in another form, as a stream: written by a process with little memory and no secrets."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
from obstore.store import ObjectStore
from pydantic import JsonValue

from services.gateway.admission.slots import Slots
from services.gateway.tables.forms import Form
from shared import blobs
from shared.bounded_process import BoundedProcess, BoundExceeded, Bounds, TaskLost, started
from shared.errors import InvalidRequest, NotFound, Overloaded

log = structlog.get_logger()

_WRITE = "services.gateway.tables.tasks:write_table"
_CHUNK_BYTES = 1 << 18
_MAX_OF_TENANT = 2
_WAIT_SECONDS = 20.0
#: A client that takes nothing for so long has gone.
_PAUSE_SECONDS = 60.0
_CPU_SECONDS = 600.0
_MAX_WHOLE_MB = 4096  #: what a form takes on the disk that is made as a file first
#: The folder of a conversion, by the process that it belongs to.
_FOLDER = re.compile(r"assay-table-(\d+)-.+")


class Conversions:
    """Starts a process for each table that is converted to another format, a few at once."""

    def __init__(self, processes: int, memory_mb: int) -> None:
        self._of_tenants = Slots("tables", _MAX_OF_TENANT, seconds=_WAIT_SECONDS, refusal=_busy)
        self._of_all = Slots("tables", processes, seconds=_WAIT_SECONDS, refusal=_busy)
        self._memory_mb = memory_mb
        remove_leftovers(Path(tempfile.gettempdir()))

    async def start(
        self, store: ObjectStore, sha256: str, form: Form, tenant: str, most_bytes: int
    ) -> AsyncIterator[bytes]:
        """Yield the bytes, of which the first are there; ``most_bytes``: what may be on the disk meanwhile.

        Raises: InvalidRequest, NotFound, Overloaded.
        """
        content = self._run(store, sha256, form, tenant, most_bytes)
        first = await anext(content, b"")

        async def whole() -> AsyncIterator[bytes]:
            try:
                yield first
                async for chunk in content:
                    yield chunk
            finally:
                await content.aclose()  # type: ignore[attr-defined]

        return whole()

    async def _run(
        self, store: ObjectStore, sha256: str, form: Form, tenant: str, most_bytes: int
    ) -> AsyncIterator[bytes]:
        megabytes = max(1, min(most_bytes >> 20, _MAX_WHOLE_MB))
        bounds = Bounds(self._memory_mb, _CPU_SECONDS, wall_seconds=3600.0, output_mb=megabytes)
        async with self.fetched(store, sha256, tenant) as file:
            with file.open("rb") as source:
                reading, writing = os.pipe()
                argument: JsonValue = {"form": form.name}
                try:
                    reader, transport = await _reader(reading)
                    try:
                        async with started(_WRITE, argument, bounds, [source.fileno(), writing]) as process:
                            os.close(writing)
                            writing = -1
                            async for chunk in _chunks(reader, process):
                                yield chunk
                            await _check(process, form)
                    finally:
                        transport.close()
                finally:
                    if writing >= 0:
                        os.close(writing)

    @asynccontextmanager
    async def fetched(self, store: ObjectStore, sha256: str, tenant: str) -> AsyncIterator[Path]:
        """Yield the file in a temporary folder, while holding a slot to work on it. Raises: NotFound, Overloaded."""
        async with self._of_tenants.hold(tenant), self._of_all.hold(""):
            folder = Path(tempfile.mkdtemp(prefix=f"assay-table-{os.getpid()}-"))
            try:
                file = folder / "table.parquet"
                try:
                    await asyncio.to_thread(blobs.fetch, store, sha256, file)
                except FileNotFoundError:
                    raise NotFound("The content of this file is gone.") from None
                yield file
            finally:  # not awaited: a client that has gone cancels whatever waits here
                asyncio.get_running_loop().run_in_executor(None, _remove, folder)

    @property
    def memory_mb(self) -> int:
        return self._memory_mb


def remove_leftovers(parent: Path) -> None:
    """Delete the folders of processes that are no more: a gateway that was killed could not."""
    for folder in parent.glob("assay-table-*"):
        match = _FOLDER.fullmatch(folder.name)
        if match is not None and not Path(f"/proc/{match[1]}").exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """Return a stream of what comes through a pipe; closing the transport closes the pipe."""
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    return reader, transport


async def _chunks(reader: asyncio.StreamReader, process: BoundedProcess) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    while chunk := await reader.read(_CHUNK_BYTES):
        watch = loop.call_later(_PAUSE_SECONDS, process.kill)
        try:
            yield chunk
        finally:
            watch.cancel()


async def _check(process: BoundedProcess, form: Form) -> None:
    """Check the process's outcome. Raises: InvalidRequest, Overloaded; after the first bytes either one aborts the
    answer.
    """
    try:
        refused = await process.answer()
    except TaskLost:
        raise _busy() from None
    except BoundExceeded as exceeded:
        log.error("table_not_written", form=form.name, reason=str(exceeded))
        refused = f"the table cannot be written: {exceeded}"
    if refused is not None:
        raise InvalidRequest(f"query.format: {refused}; choose another format", [(["query", "format"], str(refused))])


def _busy() -> Overloaded:
    return Overloaded("Too many tables are being written at once; try again later.", retry_after=5)
