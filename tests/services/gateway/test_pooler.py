"""Behind PgBouncer in transaction mode: sessions are shared, tenants are not, and jobs run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.engine import make_url

from migrations import roles
from services.gateway.database import Database
from services.gateway.settings import Settings
from shared.db import connect, with_driver
from shared.jobs.record import submission
from shared.jobs.record.tables import jobs
from shared.settings import StoreSettings
from tests.services.gateway.conftest import Gateway, serving
from tests.support.platform import Platform, wait_for
from tests.support.pooler import pooler
from tests.support.rows import job_row

pytestmark = [pytest.mark.slow, pytest.mark.chaos]
_SEEN = select(jobs.c.tenant_id)


@pytest.fixture(scope="module")
def pooled_url(database_url: str, servers_folder: Path) -> Iterator[str]:
    """Two connections for each user."""
    owner = create_engine(with_driver(database_url))
    with owner.begin() as connection:
        roles.apply(connection)
        roles.allow_login(connection, {"gateway": "secret"})
    owner.dispose()
    with pooler(database_url, servers_folder / "pooler", 2, {}) as url:
        yield url


def as_gateway(url: str) -> str:
    return make_url(url).set(username="assay_gateway", password="secret").render_as_string(hide_password=False)


def test_tenants_that_share_sessions_see_their_own_rows(pooled_url: str, database_url: str) -> None:
    owner = create_engine(with_driver(database_url))
    with owner.begin() as connection:
        for number in range(6):
            connection.execute(submission.submit(job_row(tenant_id=f"t{number}")))

    async def look(database: Database, number: int) -> None:
        begin = database.write if number % 3 == 0 else database.read
        async with begin(f"t{number % 6}") as connection:
            assert (await connection.scalars(_SEEN)).all() == [f"t{number % 6}"]
            await asyncio.sleep(0)
            assert (await connection.scalars(_SEEN)).all() == [f"t{number % 6}"]

    async def everyone() -> None:
        database = Database(as_gateway(pooled_url), 8)
        for _ in range(5):
            await asyncio.gather(*(look(database, number) for number in range(30)))
        await database.close()

    asyncio.run(everyone())
    leaves_nothing = create_engine(with_driver(as_gateway(pooled_url)))
    for _ in range(4):
        with leaves_nothing.connect() as connection:
            assert connection.scalars(_SEEN).all() == [], "a session has kept a tenant"
    leaves_nothing.dispose()
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM jobs"))
    owner.dispose()


def test_services_have_their_settings_from_their_role(pooled_url: str) -> None:
    engine = connect(as_gateway(pooled_url), 1)
    with engine.connect() as connection:
        told = {name: connection.scalar(text(f"SHOW {name}")) for name in ("statement_timeout", "plan_cache_mode")}
        assert connection.scalar(text("SELECT current_setting('assay.tenant', true)")) == "*"
    engine.dispose()
    assert told == {"statement_timeout": "30s", "plan_cache_mode": "force_generic_plan"}


@pytest.mark.timeout(240)
def test_jobs_run_and_a_dead_leader_is_followed(pooled_url: str, stores: StoreSettings, settings: Settings) -> None:
    """The gateway, workers and two reconcilers share two connections for each user."""
    pooled = stores.model_copy(update={"database_url": pooled_url})
    platform = Platform(pooled, lease_seconds=1.0, concurrency=2)
    engine = connect(stores.database_url)
    of_gateway = stores.model_copy(update={"database_url": as_gateway(pooled_url)})
    try:
        leader = platform.reconciler()
        worker = platform.ready_worker()
        wait_for(lambda: leads(stores) == 1, 30, "a leader")
        platform.reconciler()
        with serving(replace(settings, stores=of_gateway)) as url, Gateway(url, engine, settings).client() as client:
            body = {"kind": "execute", "input": {"language": "python", "code": "effect"}}
            ids = [client.post("/v1/jobs", json=body).raise_for_status().json()["id"] for _ in range(40)]
            platform.wait_all(ids)
            assert {client.get(f"/v1/jobs/{id}").json()["state"] for id in ids} == {"succeeded"}

            leader.kill()
            held = platform.submit("effect sleep 60")
            wait_for(lambda: platform.job(held)["state"] == "running", 30, "the job runs")
            worker.kill()
            again = platform.worker()  # the lease of the dead one is found by the reconciler that leads now
            wait_for(lambda: platform.job(held)["attempt"] == 2, 60, "the second reconciler leads")
            again.kill()
    finally:
        platform.stop()
        engine.dispose()


def leads(stores: StoreSettings) -> int:
    """How many hold the reconcilers' lock."""
    engine = create_engine(with_driver(stores.database_url))
    held = text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with engine.connect() as connection:
        count = int(connection.execute(held).scalar_one())
    engine.dispose()
    return count
