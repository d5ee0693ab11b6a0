"""A load generator that costs little: keep-alive connections over bare sockets, one request at a time on each."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Load:
    per_second: float
    median_ms: float
    p99_ms: float


def drive(port: int, request: bytes, *, total: int, connections: int, expect: int) -> Load:
    """Send ``request`` ``total`` times over ``connections`` sockets; every answer must have the expected status."""
    began = time.perf_counter()
    taken = asyncio.run(_drive(port, request, total, connections, expect))
    elapsed = time.perf_counter() - began
    return Load(len(taken) / elapsed, statistics.median(taken) * 1e3, statistics.quantiles(taken, n=100)[98] * 1e3)


async def _drive(port: int, request: bytes, total: int, connections: int, expect: int) -> Sequence[float]:
    each = [_one(port, request, total // connections, expect) for _ in range(connections)]
    return [seconds for taken in await asyncio.gather(*each) for seconds in taken]


async def _one(port: int, request: bytes, times: int, expect: int) -> Sequence[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(length)
        if status != expect:
            raise RuntimeError(f"answered {status}: {body[:500]!r}")
        taken.append(time.perf_counter() - began)
    writer.close()
    return taken


def post(path: str, body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """Return a POST of JSON as bytes on the wire."""
    more = [f"{name}: {value}" for name, value in headers.items()]
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
