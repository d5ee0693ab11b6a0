"""What a job writes counts against its tenant's storage, and is refused beyond it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, delete, func, select, update

from shared import blobs
from shared.blobs import files
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.errors import QuotaExceeded
from shared.jobs.content.files import JobFiles
from shared.jobs.content.storage import StorageQuota
from shared.jobs.record import quotas, statements, submission
from shared.jobs.record.tables import jobs
from tests.support.rows import job_row


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


def job_files(engine: Engine, folder: Path, tenant: str, default_bytes: int) -> JobFiles:
    """As a new job of the tenant gets them."""
    row = job_row(tenant_id=tenant)
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
    quota = StorageQuota(engine, tenant, default_bytes)
    return JobFiles(engine, blobs.open_store(folder.as_uri()), tenant, str(row["id"]), quota)


def kept(connection: Connection, tenant: str) -> int:
    count = select(func.count()).select_from(files).where(files.c.tenant_id == tenant)
    return int(connection.execute(count).scalar_one())


def test_a_file_beyond_the_quota_is_refused_by_its_name_and_nothing_of_it_is_kept(
    engine: Engine, tmp_path: Path
) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 60)
    mine = job_files(engine, tmp_path, "storage-full", 100)
    mine.save("fits", b"y" * 60, "text/plain")
    for content in (b"x" * 60, large, io.BytesIO(b"x" * 60)):
        with pytest.raises(QuotaExceeded) as refusal:
            mine.save("too much", content, "text/plain")
        assert refusal.value.extra == {"quota": "storage_bytes", "limit": 100}
    mine.save("still fits", b"z" * 40, "text/plain")
    with pytest.raises(QuotaExceeded):  # another job of the tenant sees what this one has saved
        job_files(engine, tmp_path, "storage-full", 100).save("one byte", b"1", "text/plain")
    job_files(engine, tmp_path, "storage-other", 100).save("fits", b"y" * 60, "text/plain")
    with engine.connect() as connection:
        assert (kept(connection, "storage-full"), kept(connection, "storage-other")) == (2, 1)


def test_jobs_that_save_at_the_same_moment_share_the_quota(engine: Engine, tmp_path: Path) -> None:
    saving = [job_files(engine, tmp_path, "storage-at-once", 1000) for _ in range(8)]

    def save(number: int) -> int:
        try:
            for part in range(4):
                saving[number].save("part", f"{number}-{part}".ljust(100).encode(), "text/plain")
        except QuotaExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(save, range(8)))
    with engine.connect() as connection:
        assert kept(connection, "storage-at-once") == 10


def test_what_is_set_for_a_tenant_stands_before_the_default(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as connection:
        connection.execute(quotas.set_limits("storage-less", {"storage_bytes": 10}, "admin"))
    with pytest.raises(QuotaExceeded, match="the 10 that are allowed"):
        job_files(engine, tmp_path, "storage-less", 1000).save("large", b"x" * 11, "text/plain")


def test_inputs_and_results_count_until_their_job_is_deleted(engine: Engine) -> None:
    def stored(connection: Connection) -> int:
        return int(connection.execute(quotas.stored_bytes("storage-jobs")).scalar_one())

    def submitted(connection: Connection, text: str) -> str:
        row = {**job_row(tenant_id="storage-jobs"), "input": {"text": text}}
        connection.execute(submission.submit(row))
        return str(row["id"])

    with engine.connect() as connection:  # what it did is rolled back
        submitted(connection, "short")
        assert stored(connection) == 0  # what is below 1 kB is not counted
        job_id = submitted(connection, "x" * 50_000)
        of_input = stored(connection)
        assert 50_000 <= of_input < 51_000
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(state="running", fence=1))
        done = statements.complete(
            statements.Held("storage-jobs", job_id, 1), JobState.SUCCEEDED, {"text": "y" * 80_000}, None, [], {}
        )
        connection.execute(done.clause)
        assert 130_000 <= stored(connection) < 132_000
        connection.execute(delete(jobs).where(jobs.c.id == job_id))
        assert stored(connection) == 0
        batch = [{**job_row(tenant_id="storage-jobs"), "input": {"text": "z" * 2_000}} for _ in range(3)]
        connection.execute(submission.submit_batch("b-storage", "storage-jobs", batch))
        assert 6_000 <= stored(connection) < 6_300


def test_a_file_is_refused_for_what_jobs_store(engine: Engine, tmp_path: Path) -> None:
    row = {**job_row(tenant_id="storage-results"), "input": {"text": "x" * 5_000}}
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
    files_of_job = job_files(engine, tmp_path, "storage-results", 5_100)
    with pytest.raises(QuotaExceeded) as refusal:
        files_of_job.save("beside a large input", b"y" * 500, "text/plain")
    assert refusal.value.extra["quota"] == "storage_bytes"
