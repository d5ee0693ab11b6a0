"""Every process is replaced by a new one under load: no request fails, and no job begins twice."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import httpx2 as httpx
import pytest

from services.host.prefork import PreforkedProcess
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.timeout(300)]


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores, lease_seconds=30, grace_seconds=20)
    yield started
    started.stop()


class Serving:
    """The gateways that requests are sent to, as a load balancer knows them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._lock, self._turn = Lock(), itertools.count()
        self._gateways: list[tuple[int, PreforkedProcess]] = []

    def add(self) -> None:
        port = free_port()
        process = self._platform.gateway(port)
        with self._lock:
            self._gateways.append((port, process))

    def replace_oldest(self) -> None:
        """A new one serves; the old one gets no more requests, and ends when it has answered those it has."""
        self.add()
        with self._lock:
            _, old = self._gateways.pop(0)
        Event().wait(0.5)
        old.send_signal(signal.SIGTERM)
        assert old.wait(30) in (0, -signal.SIGTERM)  # uvicorn ends by the signal that asked it to

    def url(self) -> str:
        with self._lock:
            port, _ = self._gateways[next(self._turn) % len(self._gateways)]
        return f"http://127.0.0.1:{port}"


def test_processes_are_replaced_one_by_one(platform: Platform) -> None:
    workers = [platform.ready_worker(), platform.worker()]
    reconciler = platform.reconciler()
    serving = Serving(platform)
    serving.add()
    serving.add()
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    headers, over, ids = {"Authorization": f"Bearer {key}"}, Event(), list[str]()

    def submit() -> None:
        body = {"kind": "execute", "input": {"language": "python", "code": "effect sleep 0.05"}}
        while not over.is_set():
            answer = httpx.post(f"{serving.url()}/v1/jobs", json=body, headers=headers, timeout=30)
            assert answer.status_code == 202, answer.text
            ids.append(answer.json()["id"])
            done = httpx.get(f"{serving.url()}/v1/jobs/{ids[-1]}", headers=headers | {"Prefer": "wait=5"}, timeout=30)
            assert done.status_code == 200, done.text

    with ThreadPoolExecutor(4) as clients:
        running = [clients.submit(submit) for _ in range(4)]
        try:
            for _ in range(2):
                serving.replace_oldest()
            for old in workers:
                platform.ready_worker()
                old.send_signal(signal.SIGTERM)
                assert old.wait(30) == 0
            platform.reconciler()
            reconciler.send_signal(signal.SIGTERM)
            assert reconciler.wait(30) == 0
            more = len(ids) + 20
            wait_for(lambda: len(ids) > more or any(each.done() for each in running), 60, "work goes on")
        finally:
            over.set()
        for each in running:
            each.result(60)
    platform.wait_all(ids)
    check_history(platform, ids)
    assert {platform.job(id)["attempt"] for id in ids} == {1}
