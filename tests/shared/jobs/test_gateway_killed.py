"""A gateway that is killed between commit, notification and answer: the same key gets the same job again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event

import httpx2 as httpx
import pytest
from sqlalchemy import text

from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for
from tests.support.ports import free_port

JOBS = 150


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


def answered(submitted: Sequence[Future[str]], least: float) -> bool:
    return sum(each.done() for each in submitted) >= least


@pytest.mark.chaos
@pytest.mark.slow(seconds=10)
@pytest.mark.timeout(300)
def test_no_job_is_lost_or_doubled_when_gateways_are_killed_while_they_submit(platform: Platform) -> None:
    platform.reconciler()
    platform.ready_worker()
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    port = free_port()
    running = [platform.gateway(port)]
    over = Event()

    def submit(number: int) -> str:
        """Repeat the request until there is an answer, always with the same idempotency key."""
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"key-{number}"}
        body = {"kind": "execute", "input": {"language": "python", "code": f"effect sleep 0.0{number % 5}"}}
        while not over.is_set():
            try:
                answer = api.post("/v1/jobs", json=body, headers=headers)
            except httpx.HTTPError:
                over.wait(0.05)
                continue
            if answer.status_code == 202:
                return str(answer.json()["id"])
            assert answer.status_code in (409, 503), answer.text  # still in flight on a connection that died
            over.wait(0.05)
        raise AssertionError("nobody answered in time")

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as api, ThreadPoolExecutor(8) as clients:
        submitted = [clients.submit(submit, number) for number in range(JOBS)]
        try:
            for share in (0.2, 0.5, 0.8):
                wait_for(partial(answered, submitted, share * JOBS), 60)
                running[-1].kill()
                running[-1].wait()
                running.append(platform.gateway(port))
            ids = [each.result(timeout=60) for each in submitted]
        finally:
            over.set()

    assert len(set(ids)) == JOBS
    platform.wait_all(ids)
    check_history(platform, ids)
    with platform.engine.connect() as connection:
        # Not one more than was answered for: a submit without an answer was either kept under its key or undone.
        count = connection.execute(text("SELECT count(*) FROM jobs WHERE actor <> 'test'")).scalar_one()
    assert count == JOBS
