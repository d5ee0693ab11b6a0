"""The worker as a process: below the minimum of isolation it stays up, takes nothing, and says why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import RowMapping, select, text

from shared import blobs
from shared.contracts.jobs import JobState
from shared.jobs.delivery import notifications
from shared.jobs.record import submission
from shared.jobs.record.tables import workers
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for
from tests.support.rows import job_row


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


@pytest.mark.slow(seconds=3)
def test_below_the_minimum_nothing_is_consumed_and_the_worker_says_why(platform: Platform) -> None:
    job = platform.submit("execute")
    process = platform.start("services.execution", ASSAY_SANDBOX_MINIMUM="microvm")

    def told() -> RowMapping | None:
        with platform.engine.connect() as connection:
            return connection.execute(select(workers).where(workers.c.service == "execution")).mappings().first()

    worker = wait_for(told, 60)
    assert worker["kinds"] == []
    assert worker["facts"]["isolation"] == {"tier": "none", "minimum": "microvm"}
    assert "microvm is required" in worker["facts"]["unavailable"]
    assert platform.job(job)["state"] == JobState.QUEUED
    assert process.poll() is None


@pytest.mark.slow(seconds=19)
@pytest.mark.timeout(300)
def test_a_document_whose_worker_is_killed_runs_again_and_leaves_nothing_half_written(
    platform: Platform, stores: StoreSettings, tmp_path: Path
) -> None:
    """Its second block loads the sandbox until its budget is spent; the worker is killed in the middle of it."""
    markdown = "```python exec\nx = 1\nprint(x)\n```\n\n```python exec\nwhile True:\n    x += 1\n```\n"
    row = job_row(kind="document", input={"markdown": markdown}, budget={"seconds": 8})
    job_id = str(row["id"])
    with platform.engine.begin() as connection:
        connection.execute(submission.submit(row))
    notifications.notify(platform.redis, "document", job_id)
    first = platform.start("services.execution", TMPDIR=str(tmp_path), ASSAY_SANDBOX_SLOTS="1")
    wait_for(lambda: _started(platform, job_id) >= 2, 120, "the second block")
    first.kill()
    first.wait()
    assert platform.job(job_id)["state"] == JobState.RUNNING
    assert _files(platform, job_id) == []
    platform.start("services.execution", TMPDIR=str(tmp_path), ASSAY_SANDBOX_SLOTS="1")
    platform.reconciler()
    job = platform.wait(job_id, 120)
    assert (job["state"], job["attempt"]) == (JobState.SUCCEEDED, 2), job["error"]
    result = job["result"]
    assert [block["status"] for block in result["blocks"]] == ["ok", "error"]
    # Every file that the result names is there whole, and no other.
    named = {value for key, value in result.items() if key.endswith("file_id") and value is not None}
    assert {file["id"] for file in _files(platform, job_id)} == named
    store = blobs.open_store(stores.blob_url)
    for file in _files(platform, job_id):
        with blobs.read(store, file["sha256"]) as content:
            assert len(content.read()) == file["size"]
    ends = [event["type"] for event in platform.events(job_id) if event["type"] in ("job_succeeded", "job_failed")]
    assert ends == ["job_succeeded"]
    assert json.dumps(result)


def _started(platform: Platform, job_id: str) -> int:
    return sum(event["type"] == "block_started" for event in platform.events(job_id))


def _files(platform: Platform, job_id: str) -> list[RowMapping]:
    with platform.engine.connect() as connection:
        query = text("SELECT id, sha256, size FROM files WHERE job_id = :id")
        return list(connection.execute(query, {"id": job_id}).mappings())
