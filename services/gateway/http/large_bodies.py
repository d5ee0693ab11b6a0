"""Processes that answer large requests: nothing that a tenant sends blocks the event loop of the others.

A body that takes milliseconds to read is kept on disk as it arrives, and then sent to a process that runs the same
application behind a Unix socket, one request at a time. A process that takes too long, or too much memory, is killed.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

import httpx2
import structlog
from fastapi import Request, Response

from services.gateway.admission.slots import Slots
from services.gateway.metrics import Metrics
from shared.errors import Overloaded, TooLarge

if TYPE_CHECKING:
    from services.gateway.settings import Settings

log = structlog.get_logger()

#: Header of such a process's answers: the number of jobs that it has accepted, by kind.
SUBMITTED_HEADER = "x-assay-submitted"
#: Header of the requests to it: the client's address.
ADDRESS_HEADER = "x-assay-address"
#: Above this a body is not read on the event loop, nor one with more values, which take longest.
SMALL_BYTES = 64 * 1024
_SMALL_VALUES = 2_000
_RESOURCE = "processes for large bodies"
_START_SECONDS = 120.0
_ANSWER_SECONDS = 30.0
_RETRY_SECONDS = 15.0  #: between two starts that a check of the health brings about
#: Large requests of one tenant that are received at once; the others are not read meanwhile.
_MAX_RECEIVED = 4
_IN_MEMORY_BYTES = 256 * 1024
_CHUNK_BYTES = 256 * 1024
_COSTLY = "Reading this body takes more time or memory than a request may have; send less at once, or upload a file."
#: Of one connection, not of the request or its answer.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "expect", "host", "date", "server", "upgrade"}
)


def is_small(body: bytes | bytearray) -> bool:
    """Return whether the body is read in a moment, whatever it holds."""
    return len(body) <= SMALL_BYTES and body.count(b",") <= _SMALL_VALUES


class LargeBodies:
    """The processes that answer large requests; each is started when it is first needed."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._received = Slots(_RESOURCE, _MAX_RECEIVED)
        self._read = Slots(_RESOURCE, 1)
        self._of_all = Slots(_RESOURCE, settings.http.large_body_processes)
        self._idle: list[_LargeBodyProcess] = []
        self._processes: set[_LargeBodyProcess] = set()
        self._failure: str | None = None  #: of the last start
        self._retry_at = 0.0
        self._retry: asyncio.Task[None] | None = None

    async def forward(self, request: Request, tenant: str, begun: bytes, rest: AsyncIterator[bytes]) -> Response:
        """Answer a request whose body has ``begun``.

        Raises: TooManyRequests, TooLarge, Overloaded, what ``rest`` raises.
        """
        async with self._received.hold(tenant):
            with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as body:
                body.write(begun)
                async for chunk in rest:
                    body.write(chunk)
                async with self._read.hold(tenant), self._of_all.hold(""):
                    return await self._answer(request, body)

    async def check(self) -> str | None:
        """Return why no large body can be read; None when the last process started, or none was needed yet.

        After a failure it tries again from time to time, so that it is known when the cause is gone.
        """
        is_due = time.monotonic() >= self._retry_at and (self._retry is None or self._retry.done())
        if self._failure is not None and is_due:
            self._retry = asyncio.create_task(self._start_again())
        return self._failure

    async def _start_again(self) -> None:
        with suppress(Overloaded):
            self._idle.append(await self._start())

    async def stop(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            await asyncio.gather(self._retry, return_exceptions=True)
        for process in list(self._processes):
            await process.end()

    async def _answer(self, request: Request, body: SpooledTemporaryFile[bytes]) -> Response:
        process = await self._take()
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reply = await process.send(request, body)
        except BaseException as error:
            await self._end(process)
            if not isinstance(error, (TimeoutError, httpx2.HTTPError)):
                raise
            log.warning("large_body_too_costly", path=request.url.path, bytes=body.tell())
            raise TooLarge(_COSTLY) from None
        self._idle.append(process)
        for kind, _, count in (each.partition("=") for each in reply.headers.get(SUBMITTED_HEADER, "").split()):
            self._metrics.submitted.labels(kind).inc(int(count))
        response = Response(reply.content, reply.status_code)
        response.raw_headers = [
            (name.lower(), value)
            for name, value in reply.headers.raw
            if name.decode().lower() not in _HOP_BY_HOP | {SUBMITTED_HEADER, "x-request-id"}
        ] + [(b"content-length", str(len(reply.content)).encode())]
        return response

    async def _take(self) -> _LargeBodyProcess:
        """Return an idle process, or start one. Raises: Overloaded."""
        while self._idle:
            process = self._idle.pop()
            if process.is_running:
                return process
            await self._end(process)
        return await self._start()

    async def _start(self) -> _LargeBodyProcess:
        """Start the process. Raises: Overloaded."""
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        try:
            async with asyncio.timeout(_START_SECONDS):
                process = await _LargeBodyProcess.start(self._settings)
        except (TimeoutError, OSError, EOFError) as error:
            cause = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else type(error).__name__
            self._failure = f"The process that reads large bodies does not start ({cause}): they are refused."
            log.error("large_body_process_not_started", error=cause)
            raise Overloaded(
                "Large bodies cannot be accepted now: their reader does not start. `assay doctor` shows why; "
                "smaller requests work.",
                retry_after=10,
            ) from None
        self._failure = None
        self._processes.add(process)
        return process

    async def _end(self, process: _LargeBodyProcess) -> None:
        self._processes.discard(process)
        await process.end()


class _LargeBodyProcess:
    """A process that answers one request at a time, on a socket in a folder that no other user may enter."""

    def __init__(self, process: Process, folder: Path) -> None:
        self._process = process
        self._folder = folder
        transport = httpx2.AsyncHTTPTransport(uds=str(folder / "socket"))
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=None)

    @classmethod
    async def start(cls, settings: Settings) -> _LargeBodyProcess:
        """Start the process. Raises: OSError, EOFError when it ends at once."""
        folder = Path(tempfile.mkdtemp(prefix="assay-"))
        command = [sys.executable, "-m", "services.gateway", "--large-bodies", str(folder / "socket")]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        started = cls(process, folder)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            pickled = pickle.dumps(settings)
            process.stdin.write(len(pickled).to_bytes(8, "big") + pickled)
            # Its standard input stays open until this process ends; then it ends as well.
            if not await process.stdout.readline():
                raise EOFError
        except BaseException:
            await started.end()
            raise
        return started

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def send(self, request: Request, body: SpooledTemporaryFile[bytes]) -> httpx2.Response:
        """Return the process's answer. Raises: httpx2.HTTPError when it has ended meanwhile."""
        size = body.tell()
        body.seek(0)
        headers = [(name, value) for name, value in request.scope["headers"] if name.decode("latin-1") not in _SELF]
        own = {"content-length": str(size), "x-request-id": request.state.request_id}
        if request.client is not None:
            own[ADDRESS_HEADER] = request.client.host
        headers += [(name.encode(), value.encode()) for name, value in own.items()]

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := body.read(_CHUNK_BYTES):
                yield chunk

        target = request.scope["raw_path"] + (b"?" + query if (query := request.scope["query_string"]) else b"")
        url = httpx2.URL("http://gateway", raw_path=target)
        return await self._http.request(request.method, url, headers=headers, content=chunks())

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._http.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


#: Headers that are not passed on; the wait that ``Prefer`` names is done here, where it occupies no process.
_SELF = _HOP_BY_HOP | {"x-request-id", "prefer", "accept-encoding", ADDRESS_HEADER}
