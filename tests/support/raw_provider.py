"""A provider that answers with any bytes: what the scripted server, which speaks its formats well, cannot play."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shared.llm.vendors.table import VENDORS

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass(frozen=True)
class Raw:
    """One response: its bytes in the pieces in which they are sent, and whether the connection is cut after them."""

    pieces: Sequence[bytes]
    reset: bool = False


class RawProvider:
    """Plays the same or one response after the other; ``asked`` are the bodies of the requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._responses: list[Raw] = []
        provider = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with suppress(OSError):
                    while provider._serve(self.request):
                        pass

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads, request_queue_size = True, True, 64

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def play(self, *responses: Raw) -> None:
        """Answer with these from now on, and with the last of them ever after."""
        self._responses, self.asked = list(responses), []

    def environment(self, vendors: Sequence[str]) -> dict[str, str]:
        """Variables that make the vendors be this server."""
        keys = {VENDORS[name].variables.api_key.name: f"key-of-{name}" for name in vendors}
        return {**keys, **{VENDORS[name].variables.base_url.name: self.url for name in vendors}}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, connection: socket.socket) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            received = connection.recv(65536)
            if not received:
                return False
            head += received
        head, _, body = head.partition(b"\r\n\r\n")
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
        length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
        while len(body) < length:
            body += connection.recv(65536)
        if head.startswith(b"GET "):  # its lists
            connection.sendall(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
            return True
        response = self._responses[min(len(self.asked), len(self._responses) - 1)]
        self.asked.append(json.loads(body) if body else {})
        for number, piece in enumerate(response.pieces):
            if number:
                time.sleep(0.0005)  # so that the pieces arrive one by one
            connection.sendall(piece)
        if response.reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False
        return b"content-length" in response.pieces[0].lower() if response.pieces else False


def whole(status: int, body: object, headers: Mapping[str, str] | None = None, type: str = "application/json") -> Raw:
    """A response in one piece; ``body`` as it is if it is bytes, else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    given = {"Content-Type": type, "Content-Length": str(len(data)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return Raw([f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + data])


def stream(*pieces: bytes, type: str = "text/event-stream", reset: bool = False) -> Raw:
    """A stream that ends with its connection."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\nConnection: close\r\n\r\n".encode()
    return Raw([head, *pieces], reset)


def event(value: object, name: str = "") -> bytes:
    """A server-sent event with the value as JSON, its characters unescaped."""
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def chunk(delta: object, finish: object = None, **more: object) -> bytes:
    """An event of the chat-completions format."""
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def chat(text: str, finish: object = "stop") -> list[bytes]:
    """The events of a usual answer."""
    said = [chunk({"content": text[at : at + 8]}) for at in range(0, len(text), 8)]
    return [
        chunk({"role": "assistant", "content": ""}),
        *said,
        chunk({}, finish),
        event({"choices": [], "usage": USAGE}),
        DONE,
    ]


def messages(text: str, stop: str = "end_turn") -> list[bytes]:
    """The events of a usual answer in Anthropic's format."""
    start = {"model": "claude", "content": [], "usage": {"input_tokens": 100, "output_tokens": 1}}
    each: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]
    return [event(one, one["type"]) for one in each]


DONE = b"data: [DONE]\n\n"
