"""The client's requests to this very application, without a socket; answers stream as they are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message

#: Pieces of an answer that wait for their reader.
_PIECES = 16


class InsideTransport(httpx2.AsyncBaseTransport):
    """``address``: where the caller is, for what counts by addresses."""

    def __init__(self, app: ASGIApp, address: tuple[str, int] | None) -> None:
        self._app = app
        self._address = address

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(await request.aread())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.partition(b"?")[0],
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "server": (request.url.host, request.url.port),
            "client": self._address,
            "root_path": "",
        }
        exchange.task = asyncio.create_task(self._app(scope, exchange.receive, exchange.send))  # type: ignore[arg-type]
        exchange.task.add_done_callback(exchange.end)
        try:
            start = await asyncio.shield(exchange.start)
        except BaseException:
            await exchange.aclose()
            raise
        return httpx2.Response(start["status"], headers=start["headers"], stream=exchange)


class _Exchange(httpx2.AsyncByteStream):
    """One request and its answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_PIECES)
        self._gone = asyncio.Event()
        self.start: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[Any] | None = None

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a message of the response. Raises: ClientDisconnect when the reader is gone."""
        if self._gone.is_set():
            raise ClientDisconnect
        if message["type"] == "http.response.start":
            self.start.set_result(message)
            return
        if body := message.get("body", b""):
            await self._put(body)
        if not message.get("more_body", False):
            await self._put(None)

    async def _put(self, piece: bytes | None) -> None:
        put = asyncio.ensure_future(self._pieces.put(piece))
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((put, gone), return_when=asyncio.FIRST_COMPLETED)
            if not put.done():
                raise ClientDisconnect
        finally:
            put.cancel()
            gone.cancel()

    def end(self, task: asyncio.Task[Any]) -> None:
        """Handle the return, or the failure, of the application."""
        if not task.cancelled():
            task.exception()  # the gateway's outermost layer has logged it
        if not self.start.done():
            self.start.set_exception(httpx2.RemoteProtocolError("the application gave no answer"))
        self._gone.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            piece = await self._next()
            if piece is None:
                return
            yield piece

    async def _next(self) -> bytes | None:
        """Return the next piece. Raises: ReadError when the response ended early."""
        assert self.task is not None
        if self._pieces.empty() and not self.task.done():
            get = asyncio.ensure_future(self._pieces.get())
            try:
                await asyncio.wait((get, self.task), return_when=asyncio.FIRST_COMPLETED)
                if get.done():
                    return get.result()
            finally:
                get.cancel()
        if not self._pieces.empty():
            return self._pieces.get_nowait()
        raise httpx2.ReadError("the answer ended early")

    async def aclose(self) -> None:
        """Report to the application that the reader is gone, and wait for its end."""
        self._gone.set()
        if self.task is not None and not self.task.done():
            await asyncio.wait((self.task,), timeout=1)
            self.task.cancel()
