"""Gateways as a load balancer knows them, and clients that never cease."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Protocol

import httpx2 as httpx

from shared import keys
from tests.support.platform import Platform, wait_for
from tests.support.ports import free_port
from tests.support.wait import until

_MORE = 20


class Process(Protocol):
    def send_signal(self, sig: int, /) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


_ARRIVAL_SECONDS = 0.5  #: in which a request reaches a gateway on a busy machine, too
Start = Callable[[int], Process]  #: a gateway that listens on this port


class Serving:
    """The gateways that requests are sent to, in turn."""

    def __init__(self) -> None:
        self._lock, self._turn = Lock(), itertools.count()
        self._gateways: list[tuple[int, Process]] = []
        self._sent: list[tuple[int, float]] = []  #: requests without an answer: to which port, and when

    def add(self, start: Start) -> None:
        port = free_port()
        process = start(port)
        with self._lock:
            self._gateways.append((port, process))

    def replace_oldest(self, start: Start) -> None:
        """Serve by a new one; the old one gets no more requests, and ends when it has answered those it has."""
        self.add(start)
        with self._lock:
            port, old = self._gateways.pop(0)
        until(lambda: self._has_arrived(port), "the requests that were sent to the old gateway arrive")
        old.send_signal(signal.SIGTERM)
        assert old.wait(30) in (0, -signal.SIGTERM)  # uvicorn ends by the signal that stopped it

    @contextmanager
    def request(self) -> Iterator[str]:
        """Yield the URL of the next gateway, for one request."""
        with self._lock:
            port, _ = self._gateways[next(self._turn) % len(self._gateways)]
            sent = (port, time.monotonic())
            self._sent.append(sent)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            with self._lock:
                self._sent.remove(sent)

    def _has_arrived(self, port: int) -> bool:
        """Whether every request to this gateway is answered or has been on its way for long enough."""
        recent = time.monotonic() - _ARRIVAL_SECONDS
        with self._lock:
            return all(to != port or at < recent for to, at in self._sent)


class Clients:
    """What clients that submit a job and wait for it, again and again, have submitted."""

    def __init__(self, serving: Serving, key: str) -> None:
        self.ids: list[str] = []
        self.over = Event()
        self._serving = serving
        self._headers = {"Authorization": f"Bearer {key}"}

    def go_on(self) -> None:
        """Return when many more jobs have been submitted."""
        more = len(self.ids) + _MORE
        wait_for(lambda: len(self.ids) > more, 60, "work goes on")

    def submit(self) -> None:
        body = {"kind": "execute", "input": {"language": "python", "code": "effect sleep 0.05"}}
        # A connection for each request, as to a balancer; but the client is made once: on a busy machine that takes
        # longer than an old gateway continues to take requests that were sent its way.
        fresh = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(headers=self._headers, timeout=30, limits=fresh) as client:
            while not self.over.is_set():
                with self._serving.request() as url:
                    answer = client.post(f"{url}/v1/jobs", json=body)
                assert answer.status_code == 202, answer.text
                id = answer.json()["id"]
                self.ids.append(id)
                with self._serving.request() as url:
                    done = client.get(f"{url}/v1/jobs/{id}", headers={"Prefer": "wait=5"})
                assert done.status_code == 200, done.text


@contextmanager
def clients(platform: Platform, serving: Serving, count: int = 4) -> Iterator[Clients]:
    """Clients at work while one is inside; raises what any of them met with."""
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    at_work = Clients(serving, key)
    with ThreadPoolExecutor(count) as threads:
        running = [threads.submit(at_work.submit) for _ in range(count)]
        try:
            yield at_work
        finally:
            at_work.over.set()
        for each in running:
            each.result(60)
