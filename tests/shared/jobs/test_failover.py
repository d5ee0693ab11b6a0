"""A Postgres that dies, and its standby that replaces it: jobs continue, and nothing that was answered for is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import httpx2 as httpx
import psycopg
import pytest
from sqlalchemy import text

from migrations.upgrade import upgrade
from services.host.postgres import DATABASE, Postgres
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for
from tests.support.ports import free_port
from tests.support.standby import Standby, either

JOBS = 120
pytestmark = [pytest.mark.slow(seconds=10), pytest.mark.chaos]


@dataclass(frozen=True)
class Pair:
    platform: Platform
    primary: Postgres
    standby: Standby


@pytest.fixture
def pair(servers_folder: Path, redis_url: str, tmp_path: Path) -> Iterator[Pair]:
    folder = servers_folder / "failover"
    with Postgres(folder / "a") as primary:
        with psycopg.connect(primary.url_of("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        upgrade(primary.url)
        with Standby(folder / "b", primary) as standby:
            standby.follow()
            url = either(DATABASE, primary, standby)
            stores = StoreSettings(
                database_url=url, redis_url=redis_url, blob_url=f"file://{tmp_path}", qdrant_url=None
            )
            platform = Platform(stores)
            try:
                yield Pair(platform, primary, standby)
            finally:
                platform.stop()


@pytest.mark.timeout(300)
def test_a_standby_takes_the_place_of_the_primary(pair: Pair) -> None:
    platform = pair.platform
    platform.reconciler()
    platform.ready_worker()
    port = free_port()
    platform.gateway(port)
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    over = Event()

    def submit(number: int) -> str:
        """Repeat the request until there is an answer, always with the same idempotency key."""
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"key-{number}"}
        body = {"kind": "execute", "input": {"language": "python", "code": f"effect sleep 0.0{number % 5}"}}
        while not over.wait(0.02):
            answer = api.post("/v1/jobs", json=body, headers=headers)
            if answer.status_code == 202:
                return str(answer.json()["id"])
            assert answer.status_code in (409, 503), answer.text
        raise AssertionError("nobody answered in time")

    def postgres() -> str:
        answer = api.get("/readyz")
        return str(answer.json()["dependencies"]["postgres"]["state"]) if answer.status_code == 200 else "away"

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as api, ThreadPoolExecutor(4) as clients:
        try:
            submitted = [clients.submit(submit, number) for number in range(JOBS)]
            wait_for(lambda: sum(each.done() for each in submitted) > JOBS / 3, 60)
            # An orchestrator demotes the primary, then it dies, and the standby is promoted.
            with psycopg.connect(pair.primary.url_of("postgres"), autocommit=True) as direct:
                direct.execute("ALTER SYSTEM SET default_transaction_read_only = on")
                direct.execute("SELECT pg_reload_conf()")
            wait_for(lambda: postgres() != "ok", 30, "readiness tells of it")
            pair.primary.kill()
            wait_for(lambda: postgres() == "away", 30, "readiness tells of it")
            pair.standby.promote()
            promoted = time.monotonic()
            wait_for(lambda: postgres() == "ok", 60, "the gateway has found the new primary")
            ids = [each.result(timeout=120) for each in submitted]
            first = submit(JOBS)
            platform.wait_all([first])
            print(f"a new job had ended {time.monotonic() - promoted:.1f} s after the promotion")  # noqa: T201
        finally:
            over.set()
    platform.wait_all(ids)
    check_history(platform, [*ids, first])
    with platform.engine.connect() as connection:
        count = connection.execute(text("SELECT count(*) FROM jobs WHERE actor <> 'test'")).scalar_one()
    assert count == len({*ids, first}) == JOBS + 1
