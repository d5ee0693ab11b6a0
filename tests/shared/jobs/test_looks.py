"""A list whose filter few jobs fit is looked for piece by piece: no piece is long, and none misses a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, text

from shared.db import connect
from shared.jobs.record import listing
from shared.jobs.record.listing import JobFilter, Place

_ROWS = 150
_FILL = """
    INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, labels, warnings, created_at)
    SELECT 'l' || lpad(n::text, 4, '0'), CASE WHEN n % 3 = 0 THEN 'other' ELSE 'looker' END,
           CASE WHEN n % 2 = 0 THEN 'execute' ELSE 'transform' END,
           CASE WHEN n % 5 = 0 THEN 'failed' ELSE 'succeeded' END,
           jsonb_build_object('code', 'job ' || n, 'task', 'job ' || n), 'c' || n, 'k',
           CASE WHEN n % 7 = 0 THEN '{"all": "yes", "odd": "yes"}' ELSE '{"all": "yes"}' END::jsonb,
           CASE WHEN n % 11 = 0 THEN '["odd"]' ELSE '[]' END::jsonb,
           timestamptz '2026-01-01' + (n / 4) * interval '1 second'
    FROM generate_series(1, :rows) n
"""
_MARKS = """
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT tenant_id, job_mark('label', key || '=' || value), created_at, id FROM jobs, jsonb_each_text(labels)
    UNION ALL SELECT tenant_id, job_mark('warned', ''), created_at, id FROM jobs WHERE warnings <> '[]'
"""
_ALL, _ODD = [("all", "yes")], [("odd", "yes")]
_FILTERS: dict[str, tuple[JobFilter, str]] = {
    "words": (JobFilter(words="b 10"), "input->>'code' LIKE '%b 10%'"),
    "words of kinds": (
        JobFilter(words="3", kinds=["execute", "transform"], states=["failed", "succeeded"]),
        "input->>'code' LIKE '%3%'",
    ),
    "not failed over": (JobFilter(failed_over=False), "true"),
    "a common label and a state": (JobFilter(labels=[_ALL], states=["failed"]), "state = 'failed'"),
    "two labels": (JobFilter(labels=[_ALL, _ODD]), "labels ? 'odd'"),
    "either label, of a kind": (JobFilter(labels=[[*_ODD, *_ALL]], kinds=["execute"]), "kind = 'execute'"),
    "warnings": (JobFilter(warned=True), "warnings <> '[]'"),
    "warnings of a kind and state": (
        JobFilter(warned=True, kinds=["execute"], states=["failed", "succeeded"]),
        "warnings <> '[]' AND kind = 'execute'",
    ),
    "no warnings": (JobFilter(warned=False), "warnings = '[]'"),
    "a common label without warnings": (JobFilter(labels=[_ALL], warned=False), "warnings = '[]'"),
    "nothing": (JobFilter(words="nowhere"), "false"),
}

_COUNTED: dict[str, tuple[JobFilter, str]] = {
    "all": (JobFilter(), "true"),
    "kinds": (JobFilter(kinds=["execute", "transform"]), "true"),
    "since": (
        JobFilter(created_after=datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)),
        "created_at > timestamptz '2026-01-01 00:00:09Z'",
    ),
    "a label": (JobFilter(labels=[_ODD]), "labels ? 'odd'"),
    "a state": (JobFilter(states=["failed"]), "state = 'failed'"),
}


@pytest.fixture(scope="module")
def filled(database_url: str) -> Iterator[Connection]:
    engine = connect(database_url)
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM jobs"))
        connection.execute(text("ALTER TABLE jobs DISABLE TRIGGER USER"))
        connection.execute(text(_FILL), {"rows": _ROWS})
        connection.execute(text("ALTER TABLE jobs ENABLE TRIGGER USER"))
        connection.execute(text(_MARKS))
        yield connection  # rolled back
    engine.dispose()


@pytest.mark.parametrize("name", _FILTERS)
@pytest.mark.parametrize(("tenant", "most"), [("other", 1), ("looker", 7), ("looker", 40), ("looker", 1000)])
def test_the_pieces_together_are_the_list(filled: Connection, name: str, tenant: str, most: int) -> None:
    wanted, condition = _FILTERS[name]
    expected = text(f"SELECT id FROM jobs WHERE tenant_id = :tenant AND {condition} ORDER BY created_at DESC, id DESC")
    ids = list(filled.execute(expected, {"tenant": tenant}).scalars())
    assert bool(ids) == (name != "nothing")
    assert list(_looked(filled, tenant, wanted, most)) == ids


def _looked(connection: Connection, tenant: str, wanted: JobFilter, most: int, limit: int = 4) -> Iterator[str]:
    before: Place | None = None
    while True:
        end = _end(connection, wanted, before, most, tenant)
        rows = connection.execute(listing.page(tenant, wanted, limit, before, end)).all()
        yield from (row.id for row in rows)
        if len(rows) == limit:
            before = rows[-1].created_at, rows[-1].id
        elif end is None:
            return
        else:
            before = end


def _end(
    connection: Connection, wanted: JobFilter, before: Place | None, most: int, tenant: str = "looker"
) -> Place | None:
    statement = listing.end_of_look(tenant, wanted, before, most)
    row = None if statement is None else connection.execute(statement).one_or_none()
    return None if row is None else (row.created_at, row.id)


def test_a_piece_is_no_longer_than_it_may_be(filled: Connection) -> None:
    wanted = JobFilter(words="job")
    end = _end(filled, wanted, None, 40)
    assert len(filled.execute(listing.page("looker", wanted, 1000, None, end)).all()) == 40
    assert filled.execute(listing.total("looker", wanted, end)).scalar_one() == 40


@pytest.mark.parametrize("name", [*_FILTERS, "all", "kinds", "since", "a label", "a state"])
def test_counts_by_state_are_those_of_the_list(filled: Connection, name: str) -> None:
    wanted, condition = _COUNTED.get(name) or _FILTERS[name]
    counted = f"SELECT state, count(*) AS jobs FROM jobs WHERE tenant_id = 'looker' AND {condition} GROUP BY state"
    expected = {row.state: row.jobs for row in filled.execute(text(counted))}
    rows = filled.execute(listing.by_state("looker", wanted, _end(filled, wanted, None, 1000))).all()
    assert {row.state: row.jobs for row in rows if row.jobs} == expected


@pytest.mark.parametrize("wanted", [JobFilter(), JobFilter(labels=[[*_ALL]]), JobFilter(words="job")])
def test_a_count_has_an_end(filled: Connection, wanted: JobFilter, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_OF_A_STATE", "MAX_INSPECTED"):
        monkeypatch.setattr(listing, name, 10)
    rows = filled.execute(listing.by_state("looker", wanted, _end(filled, wanted, None, 10))).all()
    counted = [row.jobs for row in rows if row.jobs]
    together = 10 if wanted.words else 11
    assert (max(counted) == 11) if listing.is_counted_by_state(wanted) else (sum(counted) == together)


@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(),
        JobFilter(states=["dead"]),
        JobFilter(kinds=["flow"]),
        JobFilter(labels=[_ALL]),
        JobFilter(model="m"),
        JobFilter(warned=True),
    ],
    ids=["all", "a state", "a kind", "a label", "a model", "warnings"],
)
def test_a_list_in_the_order_of_its_index_is_read_at_once(wanted: JobFilter) -> None:
    assert listing.end_of_look("looker", wanted, None) is None


def test_a_look_has_an_end_only_where_more_follow(filled: Connection) -> None:
    ends: Sequence[Place | None] = [_end(filled, JobFilter(words="x"), None, most) for most in (99, 100, 101)]
    assert [end is None for end in ends] == [False, False, True]
