"""The retired column ``rung_at`` agrees with ``notified_at``, whichever of the two a statement writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from shared.db import connect
from shared.jobs import maintenance, statements, submission
from tests.support.rows import job_row

_OLD_SUBMIT = text(
    "INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, rung_at) "
    "VALUES (:id, 't', 'execute', :state, '{}', :id, 'test', clock_timestamp() - interval '1 h')"
)
_OLD_HAND_BACK = text("UPDATE jobs SET state = 'queued', lease_until = NULL, rung_at = NULL WHERE id = :id")
_OLD_NOTIFY = text("UPDATE jobs SET rung_at = clock_timestamp() WHERE id = :id")
_OLD_LOST = text(
    "SELECT id FROM jobs WHERE state = 'queued' AND coalesce(rung_at, '-infinity') "
    "< clock_timestamp() - make_interval(secs => 1) ORDER BY id"
)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs CASCADE"))
        connection.execute(_OLD_SUBMIT, [{"id": "queued", "state": "queued"}, {"id": "running", "state": "running"}])
    yield engine
    engine.dispose()


def agree(engine: Engine, job_id: str) -> bool:
    """Whether both versions of the code see the same moment, or the same lack of one."""
    query = text("SELECT notified_at IS NOT DISTINCT FROM rung_at FROM jobs WHERE id = :id")
    with engine.connect() as connection:
        return bool(connection.execute(query, {"id": job_id}).scalar_one())


def lost(engine: Engine) -> tuple[list[str], list[str]]:
    """The queued jobs without a recent notification: as the previous version sees them, and as this one does."""
    with engine.connect() as connection, connection.begin() as transaction:
        before = list(connection.execute(_OLD_LOST).scalars())
        now = sorted(connection.execute(maintenance.unnotified_jobs("execute", 1, 10)).scalars())
        transaction.rollback()
    return before, now


def test_what_the_previous_version_writes_is_read_by_this_one(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(_OLD_SUBMIT, {"id": "old", "state": "queued"})
    assert agree(engine, "old")
    assert lost(engine) == (["old", "queued"], ["old", "queued"])
    with engine.begin() as connection:
        connection.execute(_OLD_NOTIFY, {"id": "old"})
        connection.execute(_OLD_HAND_BACK, {"id": "running"})
    assert agree(engine, "old")
    assert lost(engine) == (["queued", "running"], ["queued", "running"])


def test_what_this_version_writes_is_read_by_the_previous_one(engine: Engine) -> None:
    row = job_row()
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
    assert agree(engine, str(row["id"]))
    with engine.begin() as connection:
        notified = connection.execute(maintenance.unnotified_jobs("execute", 1, 10)).scalars().all()
    assert notified
    assert all(agree(engine, job_id) for job_id in notified)
    assert lost(engine) == ([], [])
    with engine.begin() as connection:
        claimed = connection.execute(statements.claim("execute", "w", 10).clause).one()
        connection.execute(statements.hand_back(statements.Held.of(claimed)).clause)
    assert agree(engine, claimed.id)
    assert lost(engine) == ([claimed.id], [claimed.id])
