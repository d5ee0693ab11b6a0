"""As much of HTTP/1.1 as the SDKs speak: small bodies, keep-alive, chunked answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

_MAX_BYTES = 64 * 1024 * 1024
_REASONS = {200: "OK", 204: "No Content", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]  #: names in lower case
    body: bytes
    port: int  #: the client's


class HttpResponse:
    """Writes one answer; ``cut`` ends the connection in the middle of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.open = True

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes, sent: int | None = None) -> None:
        """Send the answer in one piece; ``sent`` limits it to that many bytes."""
        head = self._head(status, {**headers, "Content-Length": str(len(body))})
        self._writer.write(head + (body if sent is None else body[:sent]))
        await self._writer.drain()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._writer.write(self._head(status, {**headers, "Transfer-Encoding": "chunked"}))
        await self._writer.drain()

    async def piece(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def gone(self, within: float) -> None:
        """Wait until the client closes its side. Raises: TimeoutError."""
        async with asyncio.timeout(within):
            while await self._reader.read(65536):
                pass

    @property
    def gone_away(self) -> bool:
        """Whether the client has closed its side."""
        return self._reader.at_eof() or self._writer.is_closing()

    def cut(self) -> None:
        self.open = False
        self._writer.close()

    def _head(self, status: int, headers: Mapping[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


Handler = Callable[[HttpRequest, HttpResponse], Awaitable[None]]


async def serve(handler: Handler, host: str, port: int) -> asyncio.Server:
    """Listen; port 0 takes a free one."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader, writer.get_extra_info("peername")[1])) is not None:
                response = HttpResponse(reader, writer)
                await handler(request, response)
                if not response.open:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
            pass  # the client is gone or never spoke HTTP, or the server stops
        finally:
            writer.close()

    return await asyncio.start_server(connected, host, port, limit=_MAX_BYTES)


async def _read(reader: asyncio.StreamReader, port: int) -> HttpRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    length = int(headers.get("content-length", "0"))
    if length > _MAX_BYTES:
        raise ValueError("too large")
    return HttpRequest(method, path.partition("?")[0], headers, await reader.readexactly(length), port)
