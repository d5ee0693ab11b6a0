"""No hot statement has a plan that falls off a cliff: whatever is queued, and whatever the statistics say of it.

Plans are generic, as those of every connection are. Each statement is run with statistics of an empty table and with
true ones; pages are counted, which no load of the machine changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg import sql as literals
from sqlalchemy import Connection, Executable, text
from sqlalchemy.dialects import postgresql

from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.record import counts, listing, queries, statements, submission
from shared.jobs.record.statements import Held
from shared.jobs.upkeep import deletion, maintenance
from tests.support.rows import job_row

_TABLES = "jobs, job_turns, job_counts, job_deltas, job_events, job_marks, conversations"
_FILL = """
    INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, head, labels, last_seq, created_at,
                      worker_id, lease_until, finished_at, error, warnings)
    SELECT 'q' || lpad(n::text, 9, '0'), CASE WHEN n % 10 < :skew OR n < 4 THEN 't0' ELSE 't' || (n % 500) END,
           'execute',
           CASE WHEN n % 4 = 1 THEN 'succeeded' WHEN n <= 16 THEN 'running' ELSE 'queued' END, '{"code": "1"}',
           CASE WHEN n % 10 < :chained THEN 'one' ELSE 'c' || n END, 'k', n % 10 >= :chained OR n = 10,
           CASE WHEN n % 1000 = 0 THEN '{"rare": "yes", "all": "yes"}' ELSE '{"all": "yes"}' END::jsonb, 1,
           clock_timestamp() + n * interval '1 millisecond', 'w1', clock_timestamp() + interval '1 hour',
           CASE WHEN n % 4 = 1 THEN clock_timestamp() END, CASE WHEN n % 999 = 0 THEN '{"code": "odd"}'::jsonb END,
           CASE WHEN n % 997 = 0 THEN '["odd"]' ELSE '[]' END::jsonb
    FROM generate_series(1, :rows) n
"""
_FOLLOW = (
    "INSERT INTO job_turns (kind, tenant_id) SELECT DISTINCT kind, tenant_id FROM jobs",
    "INSERT INTO job_deltas (kind, tenant_id, queued, running) SELECT kind, tenant_id, count(*), 0 FROM jobs "
    "GROUP BY kind, tenant_id",
    "INSERT INTO job_events (tenant_id, job_id, seq, type, fence) SELECT tenant_id, id, 1, 'job_queued', 0 FROM jobs",
    "INSERT INTO job_marks (tenant_id, mark, created_at, job_id) "
    "SELECT tenant_id, job_mark('label', key || '=' || value), created_at, id FROM jobs, jsonb_each_text(labels) "
    "UNION ALL SELECT tenant_id, job_mark('error', error->>'code'), created_at, id FROM jobs WHERE error IS NOT NULL "
    "UNION ALL SELECT tenant_id, job_mark('warned', ''), created_at, id FROM jobs WHERE warnings <> '[]'",
)
#: A vacuum while all rows are new, or all are gone, leaves pages and an estimate of no rows.
_VACUUMED = text(
    "UPDATE pg_class SET reltuples = 0, relpages = pg_relation_size(oid) / 8192 WHERE relname IN ('jobs', 'job_turns')"
)
#: What all indexes have given in this transaction, to triggers too.
_ENTRIES = text(
    "SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(indexrelid)), 0)::bigint FROM pg_stat_user_indexes"
)
#: How many jobs, how many of ten are one tenant's, and of one conversation; and into how many partitions events go.
_SHAPES = {
    "few": (200, 0, 0, 0),
    "many": (100_000, 0, 0, 0),
    "skewed": (60_000, 9, 5, 0),
    "of 40 days": (100_000, 0, 0, 40),
}
_PARTITION = """
    CREATE TABLE job_events_q{number} PARTITION OF job_events FOR VALUES FROM ('q{first:09}') TO ('q{past:09}')
"""
_LABEL = listing.JobFilter(labels=[[("rare", "yes")]])
_RUNNING = (Held("t0", "q000000002", 0), Held("t0", "q000000003", 0))
#: Each with the pages that it may read: those of an index from its root down, and of the rows that it gives or writes.
_HOT: Mapping[str, tuple[Callable[[], Executable], int]] = {
    "submit": (lambda: submission.submit(job_row(tenant_id="t0")), 200),
    "claim": (lambda: statements.claim("execute", "w", 60).clause, 400),
    "claim of 16": (lambda: statements.claim("execute", "w", 60, 0, *[None] * 16).clause, 2_000),
    "heartbeat": (lambda: statements.heartbeat(_RUNNING, 60), 80),
    "event": (lambda: statements.append_event(_RUNNING[0], "turn_taken", {}).clause, 60),
    "complete": (
        lambda: statements.complete(_RUNNING[0], JobState.SUCCEEDED, {}, None, [], {}).clause,
        120,
    ),
    "cancel": (lambda: statements.cancel("q000000020", "t0"), 120),
    "reclaim": (lambda: statements.reclaim(3, 12, 20, {}), 250),
    "bury": (lambda: statements.bury({}), 60),
    "waiting jobs": (lambda: maintenance.waiting_jobs(1), 2_500),  # reads 2,000 rows
    "unnotified jobs": (lambda: maintenance.unnotified_jobs("execute", 1, 20), 700),
    "queued of a tenant": (lambda: counts.queued_of("t3"), 40),
    "depth": (counts.depth, 40),
    "places": (lambda: queries.queue_positions("t3", ["q000000503"]), 600),
    "events": (lambda: queries.events_after("q000000503", "t3", 0, 100), 20),
    "a job": (lambda: queries.find("q000000503", "t3"), 30),
    "deletion": (lambda: deletion.delete_job("q000000005", "t5"), 250),
    "progress of 50": (lambda: queries.progressed({f"q{number:09}": 0 for number in range(1, 51)}), 250),
    "newest": (lambda: listing.page("t0", listing.JobFilter(), 20), 60),
    "rare state": (lambda: listing.page("t0", listing.JobFilter(states=["dead"]), 20), 20),
    "rare kind": (lambda: listing.page("t0", listing.JobFilter(kinds=["flow"]), 20), 60),
    "rare label": (lambda: listing.page("t0", _LABEL, 20), 250),
    "common label": (lambda: listing.page("t0", listing.JobFilter(labels=[[("all", "yes")]]), 20), 250),
    "error code": (lambda: listing.page("t0", listing.JobFilter(error_code="odd"), 20), 250),
    "warnings": (lambda: listing.page("t0", listing.JobFilter(warned=True), 20), 250),
    "expired jobs": (lambda: maintenance.expired_jobs(30, 1000), 20),
    "expired keys": (lambda: maintenance.expired_idempotency_keys(24, 1000), 20),
}

#: Filters that few jobs fit: a scan of 2,000 of them, each with its row and the calls of it.
_LOOSE = {
    "words of a title": listing.JobFilter(words="nowhere"),
    "an outcome": listing.JobFilter(outcomes=["timeout_wall"]),
    "warnings of a rare state": listing.JobFilter(warned=True, states=["dead"]),
    "not failed over": listing.JobFilter(failed_over=False, states=["dead", "queued"], words="nowhere"),
    "common label, rare state": listing.JobFilter(labels=[[("all", "yes")]], states=["dead"]),
}
_MAX_PAGES_OF_A_LOOK = 16_000
_COUNTED = {"all": listing.JobFilter(), "a kind": listing.JobFilter(kinds=["execute"]), "a label": _LABEL}


@pytest.fixture(scope="module", params=_SHAPES)
def filled(database_url: str, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Full tables with the statistics of empty ones."""
    rows, skew, chained, days = _SHAPES[request.param]
    engine = connect(database_url)
    with engine.connect() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
        for number in range(days):
            first, past = (each * (rows // days + 1) for each in (number, number + 1))
            connection.execute(text(_PARTITION.format(number=number, first=first, past=past)))
        connection.execute(text(f"ANALYZE {_TABLES}"))
        connection.execute(text("ALTER TABLE jobs DISABLE TRIGGER USER"))
        connection.execute(text(_FILL), {"rows": rows, "skew": skew, "chained": chained})
        connection.execute(text("ALTER TABLE jobs ENABLE TRIGGER USER"))
        for statement in _FOLLOW:
            connection.execute(text(statement))
        connection.execute(counts.add_up(10_000))
        connection.execute(
            submission.submit(job_row(kind="flow"))
        )  # these read the catalogue, once for each connection
        connection.execute(statements.claim("flow", "w", 60).clause)
        with connection.begin_nested() as attempt:  # and set the hint bits of what was just written
            connection.execute(statements.claim("execute", "w", 60, 0, *[None] * 16).clause)
            attempt.rollback()
        yield connection  # rolled back
    engine.dispose()


@pytest.mark.slow
def test_no_statistics_make_a_statement_read_more(filled: Connection) -> None:
    stale = {name: _pages(filled, statement()) for name, (statement, _) in _HOT.items()}
    filled.execute(text(f"ANALYZE {_TABLES}"))
    fresh = {name: _pages(filled, statement()) for name, (statement, _) in _HOT.items()}
    told = {name: (stale[name], fresh[name], most) for name, (_, most) in _HOT.items()}
    assert {name: pages for name, pages in told.items() if max(pages[:2]) > pages[2]} == {}
    assert {name: pages for name, pages in told.items() if pages[0] > 3 * max(pages[1], 40)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", _LOOSE)
def test_a_look_at_jobs_of_which_few_fit_has_an_end(filled: Connection, name: str) -> None:
    for _ in range(2):
        statement = listing.end_of_look("t0", _LOOSE[name], None)
        assert statement is not None
        row = filled.execute(statement).one_or_none()
        end = None if row is None else (row.created_at, row.id)
        pages = _pages(filled, listing.page("t0", _LOOSE[name], 20, None, end))
        assert (_pages(filled, statement) < 3_000, pages < _MAX_PAGES_OF_A_LOOK) == (True, True), pages
        filled.execute(text(f"ANALYZE {_TABLES}"))  # with true statistics too


@pytest.mark.slow
@pytest.mark.parametrize("name", _COUNTED)
def test_a_count_by_state_reads_a_bounded_part(filled: Connection, name: str) -> None:
    assert _pages(filled, listing.by_state("t0", _COUNTED[name])) < _MAX_PAGES_OF_A_LOOK


def _pages(connection: Connection, statement: Executable) -> int:
    """How many pages of tables and indexes one execution touches, by the plan that a prepared statement has."""
    compiled = statement.compile(dialect=postgresql.psycopg.dialect(), compile_kwargs={"render_postcompile": True})  # type: ignore[attr-defined, no-untyped-call]
    values = {
        name: processor(value) if (processor := compiled._bind_processors.get(name)) else value
        for name, value in compiled.params.items()
    }
    numbered = str(compiled) % {name: f"${number}" for number, name in enumerate(values, 1)}
    raw: Any = connection.connection.driver_connection
    given = ", ".join(literals.Literal(value).as_string(raw) for value in values.values())
    with connection.begin_nested() as attempt, psycopg.ClientCursor(raw) as cursor:
        cursor.execute(f"PREPARE hot AS {numbered}".encode())
        cursor.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE hot{f'({given})' * bool(given)}".encode()
        )
        (((told,),),) = cursor.fetchall()
        cursor.execute("DEALLOCATE hot")
        attempt.rollback()
    return int(told["Plan"]["Shared Hit Blocks"]) + int(told["Plan"]["Shared Read Blocks"])


@pytest.mark.slow
def test_a_heartbeat_changes_no_index(filled: Connection) -> None:
    changed = text(
        "SELECT pg_stat_get_xact_tuples_updated(c), pg_stat_get_xact_tuples_hot_updated(c) "
        "FROM (SELECT 'jobs'::regclass AS c) AS jobs"
    )
    with filled.begin_nested() as attempt:
        filled.execute(submission.submit(job_row(tenant_id="fresh", kind="flow")))
        job = filled.execute(statements.claim("flow", "w", 60).clause).one()
        before = filled.execute(changed).one()
        assert filled.execute(statements.heartbeat([Held.of(job)], 60)).one().id == job.id
        after = filled.execute(changed).one()
        attempt.rollback()
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]


@pytest.mark.slow
def test_the_triggers_of_a_submit_read_no_index_as_a_whole(filled: Connection) -> None:
    with filled.begin_nested() as attempt:
        filled.execute(_VACUUMED)
        before = filled.execute(_ENTRIES).scalar_one()
        filled.execute(submission.submit(job_row(tenant_id="t0")))
        given = filled.execute(_ENTRIES).scalar_one() - before
        attempt.rollback()
    assert given < 1_000
