"""Bytes that are not a request yet, and requests without a body, up to their answer."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from services.gateway.http.wire import MAX_HEAD_BYTES, Protocol
from services.gateway.settings import Settings
from tests.services.gateway.conftest import Gateway, serving, with_http


def spoken(gateway: Gateway, chunks: Iterable[bytes]) -> tuple[int, dict[str, str], bytes]:
    """The status, headers and body that the gateway answers before it closes the connection."""
    at = urlsplit(gateway.url)
    with socket.create_connection((at.hostname, at.port), timeout=30) as connection:
        try:
            for chunk in chunks:
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


@pytest.mark.parametrize(
    "words",
    [
        b"FOO / HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nX: a\x00b\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nab",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    ],
)
def test_what_is_not_http_is_a_problem_too(gateway: Gateway, words: bytes) -> None:
    status, headers, body = spoken(gateway, [words])
    problem = json.loads(body)
    assert (status, problem["status"], problem["code"]) == (400, 400, "malformed_request")
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert headers["x-request-id"] == problem["request_id"]


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""], ids=["that ends", "without end"])
def test_a_head_that_is_too_large_is_refused(gateway: Gateway, end: bytes) -> None:
    line = b"GET /healthz HTTP/1.1\r\nConnection: close\r\nX-Long: "
    value = b"a" * (3 * MAX_HEAD_BYTES)  # what is left unread does not reset the connection before the answer
    status, _, body = spoken(gateway, [line, value + end])
    assert (status, json.loads(body)["code"]) == (431, "headers_too_large")


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.content = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.content += data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@pytest.mark.parametrize(
    "before", [b"a" * 190_000, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 5_000], ids=["body", "requests"]
)
def test_what_comes_before_a_head_in_one_read_does_not_count_as_head(before: bytes) -> None:
    async def answered() -> bytes:
        wire, last = Written(), asyncio.Event()

        async def app(scope: Scope, _receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})
            if scope["path"] == "/last":
                last.set()

        limits = {"head_seconds": 30, "idle_seconds": 30, "answer_pause_seconds": 30}
        protocol = Protocol(config=Config(app), server_state=ServerState(), app_state={}, **limits)
        protocol.connection_made(wire)
        size = len(before) if before.startswith(b"a") else 0
        first = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode()
        protocol.data_received(first + before + b"GET /last HTTP/1.1\r\nHost: a\r\n")
        protocol.data_received(b"\r\n")
        await asyncio.wait_for(last.wait(), 30)
        return wire.content

    content = asyncio.run(answered())
    assert b" 431 " not in content
    assert content.count(b"HTTP/1.1 204") == 2 + before.count(b"GET")


@pytest.mark.slow
def test_a_head_that_never_ends_and_a_connection_that_says_nothing_are_closed(
    gateway: Gateway, settings: Settings
) -> None:
    own = with_http(settings, head_seconds=0.5, idle_seconds=1)
    with serving(own) as url:
        brief = replace(gateway, url=url)
        status, headers, body = spoken(brief, [b"GET /healthz HTTP/1.1\r\nHost: a\r\n"])
        assert (status, json.loads(body)["code"]) == (408, "request_timed_out")
        assert headers["connection"] == "close"
        at = urlsplit(url)
        with socket.create_connection((at.hostname, at.port), timeout=30) as silent:
            assert silent.recv(1) == b""
        with socket.create_connection((at.hostname, at.port), timeout=30) as served:
            served.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            answer = b"".join(iter(lambda: served.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/files?name=a"])
def test_a_body_that_stops_coming_is_refused(gateway: Gateway, settings: Settings, path: str) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {gateway.key('acme')}\r\nContent-Length: 9\r\n\r\n"
    )
    with serving(with_http(settings, body_pause_seconds=0.5)) as url:
        status, headers, body = spoken(replace(gateway, url=url), [head.encode() + b"{"])
    assert (status, json.loads(body)["code"]) == (408, "request_timed_out")
    assert headers["connection"] == "close"


@pytest.mark.slow
def test_a_client_that_reads_nothing_of_its_answer_is_broken_off(settings: Settings) -> None:
    with serving(with_http(settings, answer_pause_seconds=0.5)) as url:
        at = urlsplit(url)
        with socket.socket() as greedy:
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # else the system takes the whole answer
            greedy.settimeout(30)
            greedy.connect((at.hostname, at.port))
            greedy.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
            poller = select.poll()
            poller.register(greedy, 0)  # of nothing but the end
            assert poller.poll(30_000)
            with pytest.raises(ConnectionResetError):
                b"".join(iter(lambda: greedy.recv(65_536), b""))


def test_head_answers_as_get_does_without_the_body(client: httpx.Client) -> None:
    file = client.post("/v1/files?name=a.txt", content=b"hello").json()
    path = f"/v1/files/{file['id']}/content"
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == "5"
    assert head.headers["etag"] == got.headers["etag"]
    part = client.head(path, headers={"Range": "bytes=1-2"})
    assert (part.status_code, part.headers["content-range"]) == (206, "bytes 1-2/5")
    assert client.head("/healthz").status_code == 200
    assert client.head("/v1/jobs/nothing").status_code == 404
    refused = client.head("/v1/batches")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_head_of_an_event_stream_does_not_wait_for_events(client: httpx.Client) -> None:
    queued = client.post("/v1/jobs", json={"kind": "execute", "input": {"language": "python", "code": "1"}}).json()
    head = client.head(queued["links"]["events"])
    assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
