"""Titles of jobs that a person can read; the console makes the same of a single job (console/tests/titles.test.ts)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from shared.db import connect
from shared.jobs.record import listing
from shared.jobs.record.listing import JobFilter
from shared.jobs.record.tables import jobs
from shared.jobs.record.titles import title, verdict

_CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "titles.json").read_text())
_INSERT = text(
    """INSERT INTO jobs (id, tenant_id, kind, state, input, result, conversation_id, actor, labels, warnings)
    VALUES (:id, 'titled', :kind, 'succeeded', cast(:input AS jsonb), cast(:result AS jsonb), :id, 'k', '{}', '[]')"""
)


@pytest.fixture(scope="module")
def titled(database_url: str) -> Iterator[Connection]:
    engine = connect(database_url)
    with engine.connect() as connection:
        connection.execute(text("ALTER TABLE jobs DISABLE TRIGGER USER"))
        for number, each in enumerate(_CASES):
            row = {"id": f"t{number:03}", "kind": each["kind"], "input": json.dumps(each["input"]), "result": None}
            connection.execute(_INSERT, row)
        yield connection  # rolled back
    engine.dispose()


def test_a_title_is_what_a_person_would_call_the_job(titled: Connection) -> None:
    rows = titled.execute(select(title()).where(jobs.c.tenant_id == "titled").order_by(jobs.c.id)).scalars().all()
    assert list(rows) == [each["title"] for each in _CASES]


def test_a_filter_finds_the_words_of_a_title_and_not_what_describes_the_code(titled: Connection) -> None:
    def found(words: str) -> list[str]:
        page = listing.page("titled", JobFilter(words=words), 50)
        return sorted(row.title for row in titled.execute(page))

    assert found("quarterly NUMBERS") == ["Quarterly numbers"]
    assert found("sleep") == ["python: 2 lines, time.sleep(60)", "python: time.sleep(60)"]
    assert found("2 lines") == []
    assert found("Some words.") == [], "what is not in the title is not found"


@pytest.mark.parametrize(
    ("kind", "result", "expected"),
    [
        ("document", {"blocks": [{"status": "ok"}, {"status": "error"}]}, "block_failed"),
        ("document", {"blocks": [{"status": "ok"}, {"status": "skipped"}]}, None),
        ("execute", {"verdict": "user_error"}, "user_error"),
        ("transform", {"status": "unverified"}, "unverified"),
        ("flow", {"success": False}, "failed"),
    ],
)
def test_a_verdict_is_that_of_the_result_or_of_a_block(
    titled: Connection, kind: str, result: dict[str, Any], expected: str | None
) -> None:
    titled.execute(_INSERT, {"id": "verdict", "kind": kind, "input": "{}", "result": json.dumps(result)})
    assert titled.execute(select(verdict()).where(jobs.c.id == "verdict")).scalar_one() == expected
    titled.execute(text("DELETE FROM jobs WHERE id = 'verdict'"))
