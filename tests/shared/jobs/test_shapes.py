"""Which hot statements name the tenant, so that a Postgres whose tables are spread by ``tenant_id`` can send them on.

Those that do not are named here: each is a step on the way there, and a new one does not come unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql

from shared.contracts.jobs import JobState
from shared.jobs import counts, listing, queries, statements, submission
from shared.llm import ledger
from tests.support.rows import job_row

_OF_ONE_TENANT: Mapping[str, Callable[[], Executable]] = {
    "submit": lambda: submission.submit(job_row()),
    "batch": lambda: submission.submit_batch("b", "t", [job_row()]),
    "key": lambda: submission.hold_key("t", "k"),
    "response": lambda: submission.keep_response("t", "k", b"", 202, {}, b""),
    "find": lambda: queries.find("j", "t"),
    "state": lambda: queries.state("j", "t"),
    "events": lambda: queries.events_after("j", "t", 0, 100),
    "places": lambda: queries.queue_positions("t", ["j"]),
    "cancel": lambda: statements.cancel("j", "t"),
    "queued": lambda: counts.queued_of("t"),
    "newest": lambda: listing.page("t", listing.JobFilter(), 20),
    "by label": lambda: listing.page("t", listing.JobFilter(labels=[[("a", "b")]]), 20),
    "by model": lambda: listing.page("t", listing.JobFilter(model="m", states=["dead"]), 20),
    "total": lambda: listing.total("t", listing.JobFilter(error_code="x", kinds=["flow"])),
    "by state": lambda: listing.by_state("t", listing.JobFilter(kinds=["flow"])),
    "by state, of a label": lambda: listing.by_state("t", listing.JobFilter(labels=[[("a", "b")]])),
    "calls": lambda: ledger.calls_of("t", "j"),
}
_HELD = statements.Held("t", "j", 1)
#: A worker knows the job by tenant and primary key, and holds it by its fence.
_BY_KEY: Mapping[str, Callable[[], Executable]] = {
    "event": lambda: statements.append_event(_HELD, "thinking", {}).clause,
    "heartbeat": lambda: statements.heartbeat([_HELD], 60),
    "hand back": lambda: statements.hand_back(_HELD).clause,
    "alone": lambda: statements.begin_alone(_HELD).clause,
    "complete": lambda: statements.complete(_HELD, JobState.SUCCEEDED, {}, None, [], {}).clause,
}
_TENANT = re.compile(
    r"tenant_id\s*=\s*\(?%\(|INSERT INTO jobs \(id, tenant_id|\(tenant_id, key|job_places\([^)]*%\(tenant"
)


def _text(statement: Executable) -> str:
    return str(statement.compile(dialect=postgresql.psycopg.dialect()))  # type: ignore[attr-defined, no-untyped-call]


@pytest.mark.parametrize("name", _OF_ONE_TENANT)
def test_a_statement_of_a_request_names_its_tenant(name: str) -> None:
    assert _TENANT.search(_text(_OF_ONE_TENANT[name]()))


@pytest.mark.parametrize("name", _BY_KEY)
def test_a_statement_of_a_run_finds_its_job_by_key_and_fence(name: str) -> None:
    told = _text(_BY_KEY[name]())
    assert re.search(r"\bid = (%\(id\)s|held\.id)", told)
    assert re.search(r"\btenant_id = (%\(tenant\)s|held\.tenant_id)", told)
    assert re.search(r"\bfence = (%\(fence\)s|held\.fence)", told)
    joined = re.findall(r"\bFROM (\w+)", told)
    assert set(joined) <= {"job", "jobs", "unnest", "tenant_limits"}, "no join that crosses tenants"
