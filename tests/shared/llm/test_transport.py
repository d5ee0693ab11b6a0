"""Connections below the SDKs: proxies of the environment, and limits at the socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from typing import Any

import pytest

from shared.llm.call_clock import Expired, Timeouts, Watch, watching
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.transport import watched_client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Kind: test\r\n\r\nok"


class Server:
    """Answers one connection with fixed bytes, and keeps it open."""

    def __init__(self, answer: bytes) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.request_line = b""
        self._thread = threading.Thread(target=self._serve, args=(answer,), daemon=True)
        self._thread.start()

    def _serve(self, answer: bytes) -> None:
        connection, _ = self._listener.accept()
        with connection:
            self.request_line = connection.recv(65536).partition(b"\r\n")[0]
            connection.sendall(answer)
            while connection.recv(65536):
                pass

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(params=[("httpx", "httpcore"), ("httpx2", "httpcore2")], ids=["httpx", "httpx2"])
def generation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    http, core = request.param
    return import_module(http), import_module(core)


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server(ANSWER)) as server:
        yield server


def test_a_response_comes_with_its_headers_which_the_watch_sees(generation: tuple[Any, Any], server: Server) -> None:
    watch = Watch(Timeouts(), time.monotonic() + 30)
    with closing(watched_client(*generation, Endpoint("any"))) as client, watching(watch):
        response = client.get(f"http://127.0.0.1:{server.port}/path")

    assert (response.status_code, response.text, response.headers["x-kind"]) == (200, "ok", "test")
    assert (watch.headers["x-kind"], watch.connected) == ("test", True)
    assert watch.received >= len(ANSWER)


def test_a_proxy_of_the_environment_is_used(
    generation: tuple[Any, Any], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{server.port}")
    with closing(watched_client(*generation, Endpoint("any"))) as client:
        assert client.get("http://models.invalid/v1").text == "ok"

    assert server.request_line == b"GET http://models.invalid/v1 HTTP/1.1"


def test_a_host_that_is_excepted_is_asked_directly(
    generation: tuple[Any, Any], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with closing(watched_client(*generation, Endpoint("any"))) as client:
        assert client.get(f"http://127.0.0.1:{server.port}/v1").text == "ok"

    assert server.request_line == b"GET /v1 HTTP/1.1"


@pytest.mark.slow
def test_a_server_that_says_nothing_is_left_at_the_limit_of_the_watch(generation: tuple[Any, Any]) -> None:
    watch = Watch(Timeouts(first_token=0.3), time.monotonic() + 60)
    with (
        closing(Server(b"")) as silent,
        closing(watched_client(*generation, Endpoint("any"))) as client,
        watching(watch),
        pytest.raises(Expired),
    ):
        client.get(f"http://127.0.0.1:{silent.port}/")

    assert watch.ended == "first_token"


def test_a_cancelled_call_ends(generation: tuple[Any, Any]) -> None:
    cancelled = threading.Event()
    watch = Watch(Timeouts(), time.monotonic() + 60, cancelled.is_set)
    threading.Timer(0.1, cancelled.set).start()
    with (
        closing(Server(b"HTTP/1.1 200 OK\r\n")) as stalled,
        closing(watched_client(*generation, Endpoint("any"))) as client,
        watching(watch),
        pytest.raises(Expired),
    ):
        client.get(f"http://127.0.0.1:{stalled.port}/")

    assert watch.ended == "cancelled"
