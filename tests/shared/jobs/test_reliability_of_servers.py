"""Redis forgets and Postgres restarts: every accepted job still ends exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared.jobs.delivery import notifications
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow(seconds=5), pytest.mark.chaos]


def test_redis_that_restarts_empty_is_notified_again_of_every_queued_job(stores: StoreSettings, tmp_path: Path) -> None:
    with Redis(tmp_path / "redis", durable=False) as redis:
        platform = Platform(stores.model_copy(update={"redis_url": redis.url}))
        try:
            platform.reconciler()
            jobs = platform.submit_all(["effect"] * 300)
            redis.kill()
            jobs += platform.submit_all(["effect"] * 20)  # no worker is notified: that is not an error
            redis.start()
            wait_for(
                lambda: int(platform.redis.llen(notifications.queue_name("execute"))) >= len(jobs),
                30,
                "the notifications of all jobs",
            )
            platform.worker()
            platform.wait_all(jobs)
            check_history(platform, jobs)
        finally:
            platform.stop()


def test_redis_that_dies_under_a_worker_does_not_stop_it_for_good(stores: StoreSettings, tmp_path: Path) -> None:
    with Redis(tmp_path / "redis", durable=False) as redis:
        platform = Platform(stores.model_copy(update={"redis_url": redis.url}))
        try:
            platform.reconciler()
            platform.ready_worker()
            running = platform.submit("effect sleep 1")
            wait_for(lambda: platform.job(running)["state"] == "running")
            redis.kill()
            waiting = platform.submit("effect")
            platform.wait(running)
            redis.start()
            platform.wait(waiting, 60)
            check_history(platform, [running, waiting])
        finally:
            platform.stop()


def test_postgres_that_restarts_under_load_loses_no_result(
    servers_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = servers_folder / "restarting"
    with Postgres(folder / "pg", durable=False) as postgres, Redis(folder / "redis", durable=False) as redis:
        url = postgres.url_of("postgres")
        upgrade(url)
        blobs = tmp_path_factory.mktemp("blobs")
        stores = StoreSettings(database_url=url, redis_url=redis.url, blob_url=f"file://{blobs}", qdrant_url=None)
        platform = Platform(stores)
        try:
            platform.reconciler()
            platform.ready_worker()
            jobs = platform.submit_all(["effect sleep 0.05"] * 200)
            wait_for(lambda: any(platform.job(job)["state"] == "succeeded" for job in jobs))
            postgres.stop()
            postgres.start()
            platform.engine.dispose()
            platform.wait_all(jobs, 90)
            check_history(platform, jobs)
        finally:
            platform.stop()
