"""A table in another form, as a stream: written by a process with little memory and no secrets."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog
from obstore.store import ObjectStore

from services.gateway.admission.slots import Slots
from services.gateway.tables.__main__ import REFUSED
from services.gateway.tables.forms import Form
from shared import blobs
from shared.errors import InvalidRequest, NotFound, Overloaded

log = structlog.get_logger()

_CHUNK_BYTES = 1 << 18
_MAX_OF_TENANT = 2
_WAIT_SECONDS = 20.0
#: A client that takes nothing for so long has gone.
_PAUSE_SECONDS = 60.0
_PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR", "LANG", "LC_ALL", "VIRTUAL_ENV")


class Conversions:
    """Starts a process for each table that is asked for in another form, a few at once."""

    def __init__(self, processes: int, memory_mb: int) -> None:
        self._of_tenants = Slots("tables", _MAX_OF_TENANT, seconds=_WAIT_SECONDS, refusal=_busy)
        self._of_all = Slots("tables", processes, seconds=_WAIT_SECONDS, refusal=_busy)
        self._memory_mb = memory_mb

    async def start(self, store: ObjectStore, sha256: str, form: Form, tenant: str) -> AsyncIterator[bytes]:
        """The bytes, of which the first are there. Raises: InvalidRequest, NotFound, Overloaded."""
        content = self._run(store, sha256, form, tenant)
        first = await anext(content, b"")

        async def whole() -> AsyncIterator[bytes]:
            try:
                yield first
                async for chunk in content:
                    yield chunk
            finally:
                await content.aclose()  # type: ignore[attr-defined]

        return whole()

    async def _run(self, store: ObjectStore, sha256: str, form: Form, tenant: str) -> AsyncIterator[bytes]:
        async with self.process(store, sha256, tenant, "services.gateway.tables", form.name) as process:
            async for chunk in _chunks(process):
                yield chunk
            await _check(process, form)

    @asynccontextmanager
    async def process(
        self, store: ObjectStore, sha256: str, tenant: str, module: str, *words: str
    ) -> AsyncIterator[Process]:
        """``python -m MODULE WORDS FILE MEGABYTES``, killed at the end. Raises: NotFound, Overloaded."""
        async with self._of_tenants.hold(tenant), self._of_all.hold(""), _fetched(store, sha256) as file:
            command = [sys.executable, "-m", module, *words, str(file), str(self._memory_mb)]
            started = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, env=_environment()
            )
            try:
                yield started
            finally:
                _give_up(started)
                await started.wait()


@asynccontextmanager
async def _fetched(store: ObjectStore, sha256: str) -> AsyncIterator[Path]:
    """The file in a folder of its own. Raises: NotFound."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="assay-table-"))
    try:
        file = folder / "table.parquet"
        try:
            await asyncio.to_thread(blobs.fetch, store, sha256, file)
        except FileNotFoundError:
            raise NotFound("The content of this file is gone.") from None
        yield file
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _chunks(process: Process) -> AsyncIterator[bytes]:
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        watch = loop.call_later(_PAUSE_SECONDS, _give_up, process)
        try:
            yield chunk
        finally:
            watch.cancel()


def _give_up(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


async def _check(process: Process, form: Form) -> None:
    """Raises: InvalidRequest, Overloaded; after the first bytes either one tears the answer."""
    assert process.stderr is not None
    said = (await process.stderr.read(_CHUNK_BYTES)).decode("utf-8", "replace")
    status = await process.wait()
    if status == REFUSED:
        raise InvalidRequest(f"query.format: {said}; choose another format", [(["query", "format"], said)])
    if status != 0:
        log.error("table_not_written", form=form.name, status=status, said=said[-500:])
        raise Overloaded("The table could not be written in this format; try again, or take parquet.", retry_after=10)


def _busy() -> Overloaded:
    return Overloaded("Too many tables are being written at once; try again later.", retry_after=5)


def _environment() -> dict[str, str]:
    """What Python needs to start: none of the gateway's passwords."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
