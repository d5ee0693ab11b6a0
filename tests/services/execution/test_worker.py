"""The worker as a process: below the minimum of isolation it stays up, takes nothing, and says why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import RowMapping, select

from shared.contracts.jobs import JobState
from shared.jobs.tables import workers
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


@pytest.mark.slow
def test_below_the_minimum_nothing_is_consumed_and_the_worker_says_why(platform: Platform) -> None:
    job = platform.submit("execute")
    process = platform.start("services.execution", ASSAY_SANDBOX_MIN_TIER="microvm")

    def told() -> RowMapping | None:
        with platform.engine.connect() as connection:
            return connection.execute(select(workers).where(workers.c.service == "execution")).mappings().first()

    worker = wait_for(told, 60)
    assert worker["kinds"] == []
    assert worker["facts"]["isolation"] == {"tier": "none", "minimum": "microvm"}
    assert "microvm is required" in worker["facts"]["unavailable"]
    assert platform.job(job)["state"] == JobState.QUEUED
    assert process.poll() is None
