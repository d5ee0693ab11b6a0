"""Event streams of one gateway: what idle ones cost, and how fast one event reaches many.

``python -m benchmarks.streams [IDLE]``, 5,000 idle streams unless told; each takes a descriptor here and one there.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2 as httpx

from benchmarks.installation import Installation, installation
from benchmarks.table import Line, show, within
from services.host.installation import free_port

IDLE = 5_000
_WATCHING_ONE = 1_000
_SECONDS = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")
_OPENED_AT_ONCE = 50


class Streams:
    """Connections that read events, and when each of them saw the end of its job."""

    def __init__(self, port: int, authorization: str) -> None:
        self._port = port
        self._authorization = authorization
        self._tasks: set[asyncio.Task[float]] = set()
        self._places = asyncio.Semaphore(_OPENED_AT_ONCE)

    async def open(self, job_id: str) -> None:
        async with self._places:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            head = [
                f"GET /v1/jobs/{job_id}/events HTTP/1.1",
                "Host: localhost",
                f"Authorization: {self._authorization}",
            ]
            writer.write("\r\n".join([*head, "", ""]).encode())
            await reader.readuntil(b"job_queued")
        self._tasks.add(asyncio.create_task(_ended(reader, writer)))

    async def ended(self) -> list[float]:
        """When each of them ended, on the monotonic clock."""
        return list(await asyncio.gather(*self._tasks))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    try:
        await reader.readuntil(b"job_cancelled")
        return time.monotonic()
    finally:
        writer.close()


async def measure(idle: int) -> list[Line]:
    with installation() as assay:
        port = free_port("127.0.0.1", 0)
        limits = {"ASSAY_STREAMS_PER_KEY": str(10 * idle), "ASSAY_QUEUED_PER_TENANT": str(10 * idle)}
        with assay.process("services.gateway", ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1", **limits) as gateway:
            async with _client(assay, port) as client:
                return [await _idle(assay, client, port, gateway.pid, idle), *await _one_event(assay, client, port)]


async def _idle(assay: Installation, client: httpx.AsyncClient, port: int, pid: int, count: int) -> Line:
    streams = Streams(port, assay.authorization["Authorization"])
    places = asyncio.Semaphore(_OPENED_AT_ONCE)

    async def one() -> None:
        async with places:
            job_id = await _submitted(client)
        await streams.open(job_id)

    await asyncio.gather(*[one() for _ in range(count)])
    await asyncio.sleep(5)  # the first looks are over
    before, began = _cpu(pid), time.monotonic()
    await asyncio.sleep(_SECONDS)
    used = (_cpu(pid) - before) / (time.monotonic() - began)
    await streams.close()
    return Line(f"{count:,} idle streams, of a core", f"{used:.1%}", "", used, "<= 10%", used <= 0.1)


async def _one_event(assay: Installation, client: httpx.AsyncClient, port: int) -> list[Line]:
    streams = Streams(port, assay.authorization["Authorization"])
    job_id = await _submitted(client)
    await asyncio.gather(*[streams.open(job_id) for _ in range(_WATCHING_ONE)])
    began = time.monotonic()
    (await client.post(f"/v1/jobs/{job_id}/cancel")).raise_for_status()
    delays = sorted(at - began for at in await streams.ended())
    p99 = delays[int(len(delays) * 0.99)]
    return [
        within(f"one event to {_WATCHING_ONE:,} streams, p99", p99, 0.25),
        within("  median", statistics.median(delays), 0.25),
    ]


@asynccontextmanager
async def _client(assay: Installation, port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=assay.authorization, timeout=60
    ) as client:
        deadline = time.monotonic() + 30
        while True:
            try:
                (await client.get("/healthz")).raise_for_status()
                break
            except httpx.HTTPError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
        yield client


async def _submitted(client: httpx.AsyncClient) -> str:
    answer = await client.post("/v1/jobs", json={"kind": "execute", "input": {"language": "python", "code": "1"}})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _cpu(pid: int) -> float:
    """Seconds of processor that the process has used."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    idle = int(sys.argv[1]) if len(sys.argv) > 1 else IDLE
    show("Event streams of one gateway, without workers", asyncio.run(measure(idle)))


if __name__ == "__main__":
    main()
