"""HTTP before it is a request: what cannot be parsed, or never ends, is answered with a problem too."""

from __future__ import annotations

import secrets
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.gateway.http import problems
from shared.errors import AssayError, HeadersTooLarge, MalformedRequest

#: What the request line and the headers may have together.
MOST_HEAD_BYTES = 64 * 1024


class Protocol(HttpToolsProtocol):
    """uvicorn's parser, which neither waits for a head without end nor answers in plain text."""

    _head_bytes = 0
    _in_head = False

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(headers_too_large())

    def send_400_response(self, msg: str) -> None:
        self._refuse(
            MalformedRequest("This cannot be read as HTTP: look at the request line, the headers and the length.")
        )

    def _refuse(self, error: AssayError) -> None:
        """Answer, and close: it is unknown where the next request would begin."""
        request_id = secrets.token_hex(16)
        answer = problems.problem(error, request_id)
        headers = [*answer.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", b"close")]
        lines = [f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}".encode()]
        lines += [name + b": " + value for name, value in headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()


def headers_too_large() -> HeadersTooLarge:
    return HeadersTooLarge(f"The request line and headers may have {MOST_HEAD_BYTES:,} bytes together.")
