"""A quota holds when requests come at the same moment: what is counted is counted where it is used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import httpx2 as httpx
import pytest
from redis.asyncio import Redis

from services.gateway.admission.quotas import Quotas
from services.gateway.admission.rates import Rates
from shared.jobs.record import quotas
from shared.llm.settings import ProviderSettings
from shared.settings import JobSettings, StoreSettings
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


def _limited(gateway: Gateway, tenant: str, **limits: int) -> dict[str, str]:
    """Return the headers of a tenant that has these limits."""
    with gateway.engine.begin() as connection:
        connection.execute(quotas.set_limits(tenant, limits, "test"))
    return {"Authorization": f"Bearer {gateway.key(tenant, 'read', 'write')}"}


def test_queued_jobs(gateway: Gateway, two: list[httpx.Client]) -> None:
    headers = _limited(gateway, "jobs-at-once", queued_jobs=7)
    job = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    statuses = _statuses(two, lambda client: client.post("/v1/jobs", json=job, headers=headers))
    assert statuses.count(202) == 7
    assert set(statuses) <= {202, 429, 503}  # on a busy machine some do not get their turn in time


def test_queued_jobs_of_batches(gateway: Gateway, two: list[httpx.Client]) -> None:
    headers = _limited(gateway, "batches-at-once", queued_jobs=50)
    batch = {"jobs": [{"kind": "execute", "input": {"language": "python", "code": "1"}}] * 9}
    statuses = _statuses(two, lambda client: client.post("/v1/batches", json=batch, headers=headers))
    assert statuses.count(202) == 5
    assert set(statuses) <= {202, 429, 503}


def test_requests_per_minute(stores: StoreSettings) -> None:
    """Counted in Redis by two gateways; one that gets no answer in time counts alone, which is another matter."""

    async def reserved() -> int:
        tenant = f"at-once-{time.time()}"
        counters = [Redis.from_url(stores.redis_url) for _ in range(2)]
        rates = [Rates(cast(Quotas, None), redis) for redis in counters]
        asked = [each._reserve_from(each._shared, tenant, 9) for each in rates for _ in range(12)]
        allowances = await asyncio.gather(*asked)
        for redis in counters:
            await redis.aclose()
        return sum(allowance.left for allowance in allowances)

    while time.time() % 60 > 50:  # windows are those of the clock
        time.sleep(1)
    assert asyncio.run(reserved()) == 9


def test_each_quota_of_a_tenant_has_a_test_of_requests_at_once() -> None:
    """A new quota needs one: here, or where else it is counted."""
    assert set(quotas.QUOTAS) == {
        "queued_jobs",  # test_queued_jobs
        "running_jobs",  # tests/shared/jobs/test_turns.py: test_many_at_once_leave_nothing_behind
        "storage_bytes",  # test_bytes_of_files; tests/shared/jobs/test_storage.py: ..._share_the_quota
        "streams",  # tests/services/gateway/streams/test_events.py: test_two_hundred_streams_of_one_key_at_once...
        "tokens_per_day",  # tests/shared/llm/test_tenants.py: test_calls_at_the_same_moment_exceed_...
        "requests_per_minute",  # test_requests_per_minute
    }


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
