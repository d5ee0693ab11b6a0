"""A quota holds when requests come at the same moment: what is counted is counted where it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx2 as httpx
import pytest

from shared.llm.settings import ProviderSettings
from shared.settings import JobSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving

_AT_ONCE = 24
_QUOTA, _FILE = 30_000_000, 5_000_000
_CASE = {"name": "c", "kind": "execute", "input": {"language": "python", "code": "1"}}


@pytest.fixture(scope="module")
def two(gateway: Gateway) -> Iterator[list[httpx.Client]]:
    """An administrator of a tenant at two gateways."""
    workers.advertise(gateway.engine)
    settings = replace(
        gateway.settings,
        providers=ProviderSettings({"GROQ_API_KEY": "x"}),
        jobs=JobSettings(storage_per_tenant=_QUOTA),
    )
    headers = {"Authorization": f"Bearer {gateway.key('at-once', 'read', 'write', 'tenant_admin')}"}
    with serving(settings) as one, serving(settings) as other:
        clients = [httpx.Client(base_url=url, headers=headers, timeout=120) for url in (one, other)]
        yield clients
        for client in clients:
            client.close()


def _statuses(clients: list[httpx.Client], send: Callable[[httpx.Client], httpx.Response]) -> list[int]:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return [answer.status_code for answer in threads.map(send, clients * (_AT_ONCE // 2))]


def test_shadows(two: list[httpx.Client]) -> None:
    statuses = _statuses(two, lambda client: client.post("/v1/shadows", json={"kind": "transform", "model": "groq/b"}))
    assert (statuses.count(201), statuses.count(429)) == (5, _AT_ONCE - 5)


def test_evaluations(two: list[httpx.Client]) -> None:
    body = {"suite": {"name": "s", "cases": [_CASE]}, "concurrency": 1}
    statuses = _statuses(two, lambda client: client.post("/v1/evaluations", json=body))
    assert (statuses.count(202), statuses.count(429)) == (20, _AT_ONCE - 20)


@pytest.mark.slow
def test_bytes_of_uploads_and_files(two: list[httpx.Client]) -> None:
    upload = {"Tus-Resumable": "1.0.0", "Upload-Length": str(_FILE)}
    statuses = _statuses(two, lambda client: client.post("/v1/uploads", headers=upload))
    assert (statuses.count(201), statuses.count(429)) == (_QUOTA // _FILE, _AT_ONCE - _QUOTA // _FILE)
    full = two[0].post("/v1/files", content=b"x" * 1000)
    assert full.status_code == 429


@pytest.mark.slow
def test_bytes_of_files(gateway: Gateway, two: list[httpx.Client]) -> None:
    headers = {"Authorization": f"Bearer {gateway.key('files-at-once', 'read', 'write')}"}
    content = b"x" * _FILE
    statuses = _statuses(two, lambda client: client.post("/v1/files", content=content, headers=headers))
    assert statuses.count(201) == _QUOTA // _FILE
