"""HTTP before it is a request: what cannot be parsed, or never ends, is answered with a problem too."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.gateway.http import problems
from shared.errors import AssayError, HeadersTooLarge, MalformedRequest, RequestTimedOut

#: What the request line and the headers may have together.
MAX_HEAD_BYTES = 64 * 1024
#: How long and how much is still read of a client that was refused.
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 1024 * 1024
#: A socket closed with this is reset, and the kernel discards what was not read.
_AT_ONCE = struct.pack("ii", 1, 0)


class Protocol(HttpToolsProtocol):
    """uvicorn's parser with a bounded head and errors as problems instead of plain text."""

    _head_bytes = 0  #: of this head, without those of a read that began with something else
    _in_head = False
    _in_message = False
    _heads = 0
    _discarding = False
    _discarded = 0
    _timer: asyncio.TimerHandle | None = None
    _unread_bytes = 0
    _reading_timer: asyncio.TimerHandle | None = None

    def __init__(
        self,
        *,
        head_seconds: float,
        idle_seconds: float,
        answer_pause_seconds: float,
        **others: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**others)
        self._answer_pause_seconds = answer_pause_seconds
        self._head_seconds = head_seconds
        self._idle_seconds = idle_seconds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self._idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self._stop_watching()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head, self._in_message, self._head_bytes = True, True, 0
        self._heads += 1
        self._wait(self._head_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._wait(None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_message = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            self._discarded += len(data)
            if self._discarded > _LINGER_BYTES:
                self.transport.close()
            return
        heads, within = self._heads, self._in_message
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            # Before a head that began in this read there may have been a body, or other requests.
            if self._heads == heads + (not within):
                self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(headers_too_large())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():  # of an answer too small to pause for: closing waits for its reader
            self._watch_reading()

    def _watch_reading(self) -> None:
        """Break the connection off unless its client reads on: what it leaves unread is held in memory."""
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._reading_timer = self.loop.call_later(self._answer_pause_seconds, self._look_at_reading)

    def _look_at_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left and left >= self._unread_bytes:
            with suppress(OSError):  # it was closed meanwhile
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()
        elif left:
            self._watch_reading()

    def _stop_watching(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()

    def _wait(self, seconds: float | None) -> None:
        """Close the connection unless something happens meanwhile; None: after an answer it is uvicorn that waits."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(RequestTimedOut(f"The head of a request has to come within {self._head_seconds:g} s."))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(MalformedRequest("This is not valid HTTP: check the request line, the headers and the length."))

    def _refuse(self, error: AssayError) -> None:
        """Answer, and close: it is unknown where the next request would begin."""
        request_id = secrets.token_hex(16)
        answer = problems.problem(error, request_id)
        headers = [*answer.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", b"close")]
        lines = [f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}".encode()]
        lines += [name + b": " + value for name, value in headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self._close_lingering()

    def _close_lingering(self) -> None:
        """Close once the client has: what is left unread would reset the connection before it reads the answer."""
        self._wait(None)
        if not self.transport.can_write_eof():  # TLS
            self.transport.close()
            return
        self._in_head, self._discarding = False, True
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)


def headers_too_large() -> HeadersTooLarge:
    return HeadersTooLarge(f"The request line and headers may have {MAX_HEAD_BYTES:,} bytes together.")
