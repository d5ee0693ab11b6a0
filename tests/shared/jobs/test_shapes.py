"""Which hot statements name the tenant, so that a Postgres whose tables are spread by ``tenant_id`` can send them on.

Those that do not are named here: each is a step on the way there, and a new one does not come unnoticed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import pytest
from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql

import services.search.tables.catalog  # noqa: F401 - declares tables
from shared import collections, conversations
from shared.contracts.jobs import JobState
from shared.db import metadata
from shared.evaluations import shadows
from shared.evaluations import statements as evaluations
from shared.flows import statements as flows
from shared.jobs.record import counts, listing, queries, statements, submission, webhooks
from shared.jobs.upkeep import deletion, statistics
from shared.llm import ledger
from shared.stacks import results
from tests.support.platform import ROOT
from tests.support.rows import job_row

_OF_ONE_TENANT: Mapping[str, Callable[[], Executable]] = {
    "submit": lambda: submission.submit(job_row()),
    "batch": lambda: submission.submit_batch("b", "t", [job_row()]),
    "key": lambda: submission.hold_key("t", "k"),
    "response": lambda: submission.keep_response("t", "k", b"", 202, {}, b""),
    "find": lambda: queries.find("j", "t"),
    "state": lambda: queries.state("j", "t"),
    "tokens": lambda: queries.tokens_of("t", ["j"]),
    "events": lambda: queries.events_after("j", "t", 0, 100),
    "places": lambda: queries.queue_positions("t", ["j"]),
    "cancel": lambda: statements.cancel("j", "t"),
    "queued": lambda: counts.queued_of("t"),
    "newest": lambda: listing.page("t", listing.JobFilter(), 20),
    "by label": lambda: listing.page("t", listing.JobFilter(labels=[[("a", "b")]]), 20),
    "by model": lambda: listing.page("t", listing.JobFilter(model="m", states=["dead"]), 20),
    "with warnings": lambda: listing.page("t", listing.JobFilter(warned=True), 20),
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


_FLOW = flows.FlowKey("t", "f")
_NOW = datetime.now(UTC)
_LABELLED = listing.JobFilter(labels=[[("a", "b")]], model="m")
#: Each level of them says of each table whose rows it reads or writes.
_OF_EACH_TABLE: Mapping[str, Callable[[], Executable]] = {
    **_OF_ONE_TENANT,
    **{name: statement for name, statement in _BY_KEY.items() if name != "heartbeat"},
    "form": lambda: queries.form("j", "t", "n"),
    "forms": lambda: statements.add_forms(_HELD, {"n": ("text/plain", b"")}),
    "first": lambda: queries.is_first_of_conversation("j", "t", "c"),
    "marked": lambda: listing.page("t", _LABELLED, 20),
    "changed": lambda: listing.changed("t", datetime.now(UTC), 20),
    "calls of a list": lambda: listing.calls_of("t", ["j"]),
    "text of a call": lambda: ledger.call_with_text("t", "j", 1),
    "latest text": lambda: ledger.latest_text("t", "j", "p"),
    "tokens of a run": lambda: ledger.tokens_of_run(ledger.Owner("t", "j")),
    "deletion": lambda: deletion.delete_job("j", "t"),
    "redelivery": lambda: webhooks.redeliver("j", "t", "d"),
    "end of a webhook": lambda: webhooks.end_webhook("j", "t"),
    "attempt at a webhook": lambda: webhooks.log_attempt("j", "t", 1, webhooks.Attempt("delivered"), 0.1),
    "conversations": lambda: conversations.listing("t", 20),
    "exchange": lambda: conversations.add_pair("t", "c", "j", "a", "b"),
    "history": lambda: conversations.history("t", "c"),
    "collection": lambda: collections.find("t", "n"),
    "attempts": lambda: collections.attempts("t", "n", 20),
    "statistics": lambda: collections.save_statistics("t", "c", "n", "f", {}, 1),
    "known result": lambda: results.find("t", "i"),
    "shadow": lambda: shadows.find("s", "t"),
    "resume": lambda: evaluations.resume("e", "t", None),
    "version": lambda: flows.version(_FLOW, 1),
    "tail": lambda: flows.tail(_FLOW, 1, 2),
    "snapshot": lambda: flows.snapshot_at(_FLOW, 1),
    "changes": lambda: flows.history(_FLOW, 20),
    "new version": lambda: flows.add_version(_FLOW, {"version": 1}),
    "new change": lambda: flows.add_change_set(_FLOW, {"version": 1}),
    "changes too many": lambda: flows.drop_beyond(_FLOW, 1, 1),
    "versions too many": lambda: flows.forget_versions(_FLOW, 1)[0],
    "snapshots too many": lambda: flows.forget_versions(_FLOW, 1)[1],
    "proposals too many": lambda: flows.drop_proposals(_FLOW, 1),
    "decision": lambda: flows.decide(_FLOW, "p", "applied"),
    "advance": lambda: flows.advance(_FLOW, {"version": 2}),
    "sums of jobs": lambda: statistics.sums("t", "kind", "day", _NOW, _NOW),
    "sums of outcomes": lambda: statistics.sums("t", "outcome", "all", _NOW, _NOW),
    "sums of calls": lambda: statistics.sums("t", "model", "all", _NOW, _NOW, "live"),
    "requested and served": lambda: statistics.served("t", _NOW, _NOW),
    "past of the queues": lambda: statistics.queue_history("t", _NOW),
}
_TENANTS_TABLES = {table.name for table in metadata.tables.values() if "tenant_id" in table.columns}
_READ = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+(?:(?: AS)? \w+)?(?:, \w+(?: AS \w+)?)*)")
_SAID = re.compile(r"tenant_id\)?\s*(?:=|IN\b)|\bINTO \w+ \([^)]*\btenant_id\b")
_QUERY = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b")


def _levels(told: str) -> Iterator[str]:
    """Each query of a statement without those inside of it; lists and conditions in parentheses stay."""
    inner = re.compile(r"\(([^()]*)\)")
    while found := inner.search(told):
        if _QUERY.search(found[1]):
            yield found[1]
        kept = "" if _QUERY.search(found[1]) else f"\x01{found[1]}\x02"
        told = told[: found.start()] + kept + told[found.end() :]
    yield told


def _unsaid(told: str) -> list[str]:
    """The levels that read or write more tables than they say the tenant of."""
    unsaid = []
    for level in _levels(re.sub(r"'[^']*'|--[^\n]*", "", told)):
        plain = level.replace("\x01", "(").replace("\x02", ")")
        names = [name for listed in _READ.findall(plain) for name in re.findall(r"\w+", listed)]
        if len([name for name in names if name in _TENANTS_TABLES]) > len(_SAID.findall(plain)):
            unsaid.append(" ".join(plain.split()))
    return unsaid


@pytest.mark.parametrize("name", _OF_EACH_TABLE)
def test_each_level_of_a_statement_says_the_tenant_of_each_table(name: str) -> None:
    assert _unsaid(_text(_OF_EACH_TABLE[name]())) == []


def test_a_level_that_does_not_say_it_is_found() -> None:
    said = "SELECT 1 FROM jobs j JOIN files f ON f.tenant_id = j.tenant_id AND f.job_id = j.id WHERE j.tenant_id = 't'"
    assert _unsaid(said) == []
    assert len(_unsaid(said.replace("f.tenant_id = j.tenant_id AND ", ""))) == 1
    assert len(_unsaid(f"{said} AND EXISTS (SELECT 1 FROM flows WHERE (id = 'x'))")) == 1
    assert len(_unsaid("INSERT INTO job_events (job_id) SELECT id FROM job")) == 1


_JOIN = re.compile(
    r"\bJOIN\s+(\w+)(?:\s+(?:AS\s+)?(?!ON\b|USING\b)\w+)?\s+(?:ON|USING)\s+(.*?)"
    r"(?=\b(?:LEFT|JOIN|WHERE|GROUP|ORDER|LIMIT|CROSS)\b|\Z)",
    re.DOTALL,
)


def test_no_text_joins_two_tables_of_tenants_without_the_tenant() -> None:
    joins = [
        (table, " ".join(condition.split()))
        for package in ("shared", "services")
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for table, condition in _JOIN.findall(node.value)
        if table in _TENANTS_TABLES
    ]
    assert len(joins) > 5
    assert [each for each in joins if "tenant_id" not in each[1]] == []
