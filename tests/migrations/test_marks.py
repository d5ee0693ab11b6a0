"""Triggers mark jobs by what the list can be filtered by, whichever version of the code writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from sqlalchemy import Connection, text

from shared.db import connect
from shared.jobs.record.listing import JobFilter, page, total

_JOB = text(
    "INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, labels) "
    "VALUES (:id, 't', 'transform', 'running', '{}', :id, 'k', CAST(:labels AS jsonb))"
)
_ERROR = text("UPDATE jobs SET state = 'failed', error = CAST(:error AS jsonb) WHERE id = :id")
_WARNING = text("UPDATE jobs SET warnings = '[\"careful\"]' WHERE id = :id")
_CALL = text(
    "INSERT INTO llm_calls (tenant_id, job_id, turn, attempt, role, requested_provider, requested_model, "
    "served_provider, served_model, reason, outcome, prompt_key, prompt_version, seconds, source) "
    "VALUES ('t', :id, 1, 1, 'r', 'p', 'm', 'cerebras', 'large', 'failover', 'ok', 'transform', 3, 1, 'live')"
)
_FILTERS: Mapping[str, JobFilter] = {
    "label": JobFilter(labels=[[("run", "1"), ("never", "so")]]),
    "two labels": JobFilter(labels=[[("run", "1")], [("part", "a=b")]]),
    "error": JobFilter(error_code="budget_spent"),
    "provider": JobFilter(provider="cerebras"),
    "model": JobFilter(model="large", failed_over=True),
    "warnings": JobFilter(warned=True),
    "prompt": JobFilter(prompt=("transform", 3), kinds=["transform"], states=["failed", "running"]),
}


def _write(connection: Connection, id: str) -> None:
    connection.execute(_JOB, {"id": id, "labels": '{"run": "1", "part": "a=b"}'})
    connection.execute(_JOB, {"id": f"{id} other", "labels": '{"run": "2"}'})
    connection.execute(_CALL, {"id": id})
    connection.execute(_ERROR, {"id": id, "error": '{"code": "budget_spent"}'})
    connection.execute(_WARNING, {"id": id})


@pytest.fixture(scope="module")
def connection(database_url: str) -> Iterator[Connection]:
    engine = connect(database_url)
    with engine.connect() as connection:
        _write(connection, "1")
        _write(connection, "2")
        yield connection
    engine.dispose()


def _ids(connection: Connection, wanted: JobFilter) -> Sequence[str]:
    return [row.id for row in connection.execute(page("t", wanted, 10))]


@pytest.mark.parametrize("name", _FILTERS)
def test_the_list_finds_the_jobs(connection: Connection, name: str) -> None:
    assert _ids(connection, _FILTERS[name]) == ["2", "1"]
    assert connection.execute(total("t", _FILTERS[name])).scalar_one() == 2
    newest = connection.execute(page("t", _FILTERS[name], 1)).one()
    before = (newest.created_at, newest.id)
    assert [row.id for row in connection.execute(page("t", _FILTERS[name], 10, before))] == ["1"]
    assert connection.execute(page("another", _FILTERS[name], 10)).all() == []


def test_marks_go_with_their_jobs(connection: Connection) -> None:
    with connection.begin_nested() as attempt:
        connection.execute(text("DELETE FROM jobs WHERE id = '1'"))
        marked = connection.execute(text("SELECT DISTINCT job_id FROM job_marks ORDER BY 1")).scalars().all()
        assert marked == ["1 other", "2", "2 other"]
        attempt.rollback()
