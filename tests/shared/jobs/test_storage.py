"""What a job writes counts against its tenant's storage, and is refused beyond it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, func, select

from shared import blobs
from shared.blobs import files
from shared.db import connect
from shared.errors import QuotaExceeded
from shared.jobs import quotas, submission
from shared.jobs.files import JobFiles
from shared.jobs.storage import StorageQuota
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


def test_what_is_set_for_a_tenant_stands_before_the_default(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as connection:
        connection.execute(quotas.set_limits("storage-less", {"storage_bytes": 10}, "admin"))
    with pytest.raises(QuotaExceeded, match="the 10 that are allowed"):
        job_files(engine, tmp_path, "storage-less", 1000).save("large", b"x" * 11, "text/plain")
