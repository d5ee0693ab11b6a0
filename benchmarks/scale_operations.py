"""The operations of the scale benchmarks, on a queue that is filled as one asks."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from sqlalchemy import Connection, Executable, text

from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.reconciler.retention import Retention
from shared import blobs
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs import counts, listing, maintenance, queries, statements, submission
from tests.support.rows import job_row

_TIMES = 40
_FILL = """
    INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, head, notified_at, labels, last_seq)
    SELECT 'q' || lpad(n::text, 12, '0'), 't' || (n % :tenants), 'execute', 'queued', '{"code": "1"}',
           CASE WHEN n <= :chained THEN 'one' ELSE 'c' || n END, 'k', n > :chained OR n = 1, clock_timestamp(),
           CASE WHEN n = 77 THEN '{"rare": "yes"}' WHEN n % :tenants = 1 THEN '{"one": "in many"}'
                ELSE '{}' END::jsonb, 1
    FROM generate_series(1, :rows) n
"""
_FOLLOW = (
    "INSERT INTO job_turns (kind, tenant_id) SELECT DISTINCT kind, tenant_id FROM jobs WHERE state = 'queued'",
    "INSERT INTO job_counts (tenant_id, kind, queued, running) SELECT coalesce(tenant_id, ''), kind, count(*), 0 "
    "FROM jobs WHERE state = 'queued' GROUP BY GROUPING SETS ((tenant_id, kind), (kind))",
    "INSERT INTO job_marks (tenant_id, mark, created_at, job_id) "
    "SELECT tenant_id, job_mark('label', key || '=' || value), created_at, id "
    "FROM jobs CROSS JOIN LATERAL jsonb_each_text(labels) WHERE labels <> '{}'",
)


@contextmanager
def database() -> Iterator[Connection]:
    with tempfile.TemporaryDirectory(prefix="assay-scale-") as folder:
        Path(folder).chmod(0o755)
        with Postgres(Path(folder) / "postgres") as postgres:
            url = postgres.url_of("postgres")
            upgrade(url)
            engine = connect(url)
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("SET statement_timeout = 0"))
                yield connection
            engine.dispose()


def fill(connection: Connection, rows: int, tenants: int, chained: int = 0) -> None:
    """That many queued jobs, the first ``chained`` in one conversation; statistics stay those of an empty table."""
    connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
    connection.execute(text("ANALYZE jobs"))
    if not rows:
        return
    connection.execute(text("ALTER TABLE jobs DISABLE TRIGGER USER"))
    connection.execute(text(_FILL), {"rows": rows, "tenants": tenants, "chained": chained})
    connection.execute(text("ALTER TABLE jobs ENABLE TRIGGER USER"))
    for statement in _FOLLOW:
        connection.execute(text(statement))
    connection.execute(text("CHECKPOINT"))  # what the filling left to write is not a statement's


def claim(connection: Connection) -> float:
    """One submit before each claim, so that an empty queue has something to give; only the claim is timed."""
    connection.execute(submission.submit(job_row(tenant_id="t1")))
    began = time.perf_counter()
    row = connection.execute(statements.claim("execute", "w", 60).clause).one()
    spent = time.perf_counter() - began
    connection.execute(statements.complete(statements.Held.of(row), JobState.SUCCEEDED, {}, None, [], {}).clause)
    return spent


def submit(connection: Connection) -> float:
    return _timed(connection, submission.submit(job_row(tenant_id="t1")))


def complete(connection: Connection) -> float:
    connection.execute(submission.submit(job_row(tenant_id="t1")))
    row = connection.execute(statements.claim("execute", "w", 60).clause).one()
    return _timed(connection, statements.complete(statements.Held.of(row), JobState.SUCCEEDED, {}, None, [], {}).clause)


def heartbeat(connection: Connection) -> float:
    """Of jobs that run for it: they end afterwards."""
    jobs = []
    for _ in range(4):
        connection.execute(submission.submit(job_row(tenant_id="t1")))
        jobs.append(connection.execute(statements.claim("execute", "w", 60).clause).one())
    spent = _timed(connection, statements.heartbeat([statements.Held.of(job) for job in jobs], 60))
    for job in jobs:
        connection.execute(statements.complete(statements.Held.of(job), JobState.SUCCEEDED, {}, None, [], {}).clause)
    return spent


def _hundredth(
    labels: Sequence[Sequence[tuple[str, str]]] = (), states: Sequence[str] = ()
) -> Callable[[Connection], float]:
    """The hundredth page of 20; of an empty table the first."""
    wanted = listing.JobFilter(labels=labels, states=states)

    def measured(connection: Connection) -> float:
        seen = connection.execute(listing.page("t1", wanted, 99 * 20)).all()
        before = (seen[-1].created_at, seen[-1].id) if seen else None
        return _timed(connection, listing.page("t1", wanted, 20, before))

    return measured


def _look(wanted: listing.JobFilter) -> Callable[[Connection], float]:
    """One page of what hardly a job fits, and where its look ends."""

    def measured(connection: Connection) -> float:
        statement = listing.end_of_look("t1", wanted, None)
        assert statement is not None
        began = time.perf_counter()
        row = connection.execute(statement).one_or_none()
        end = None if row is None else (row.created_at, row.id)
        connection.execute(listing.page("t1", wanted, 20, None, end)).all()
        return time.perf_counter() - began

    return measured


def _timed(connection: Connection, statement: Executable) -> float:
    began = time.perf_counter()
    connection.execute(statement).all()
    return time.perf_counter() - began


def _reads(statement: Callable[[], Executable]) -> Callable[[Connection], float]:
    return lambda connection: _timed(connection, statement())


OPERATIONS: dict[str, Callable[[Connection], float]] = {
    "submit": submit,
    "claim": claim,
    "complete": complete,
    "admission, one tenant": _reads(lambda: counts.queued_of("t1")),
    "admission, all": _reads(counts.queued_in_all),
    "/metrics depth": _reads(counts.depth),
    "waiting notifications": _reads(lambda: maintenance.waiting_jobs(1)),
    "places of 20 jobs": _reads(lambda: queries.queue_positions("t1", [f"q{n:012d}" for n in range(1, 21)])),
    "list: first page": _reads(lambda: listing.page("t1", listing.JobFilter(), 20)),
    "list: rare state": _reads(lambda: listing.page("t1", listing.JobFilter(states=["dead"]), 20)),
    "list: rare kind": _reads(lambda: listing.page("t1", listing.JobFilter(kinds=["flow"]), 20)),
    "list: rare label": _reads(lambda: listing.page("t77", listing.JobFilter(labels=[[("rare", "yes")]]), 20)),
    "list: label, hundredth page": _hundredth(labels=[[("one", "in many")]]),
    "list: state, hundredth page": _hundredth(states=["queued"]),
    "list: error code": _reads(lambda: listing.page("t1", listing.JobFilter(error_code="odd"), 20)),
    "list: words of no title": _look(listing.JobFilter(words="nowhere")),
    "list: common label, rare state": _look(listing.JobFilter(labels=[[("one", "in many")]], states=["dead"])),
    "heartbeat of 4 jobs": heartbeat,
    "retention, nothing expired": _reads(lambda: maintenance.expired_jobs(30, 1000)),
}


_FINISHED = """
    INSERT INTO jobs (id, tenant_id, kind, state, input, result, conversation_id, actor, finished_at, labels)
    SELECT 'f' || lpad(n::text, 12, '0'), 't' || (n % 100), 'execute', 'succeeded', '{"code": "1"}', '{"value": 1}',
           'f' || n, 'k', clock_timestamp() - interval '31 days', '{"run": "1"}' FROM generate_series(1, :rows) n
"""
_STORIES = """
    INSERT INTO job_events (tenant_id, job_id, seq, type, fence) SELECT tenant_id, id, seq, 'job_started', 1
    FROM jobs CROSS JOIN generate_series(1, 3) AS seq WHERE state = 'succeeded'
"""


def retention(connection: Connection, jobs: int) -> tuple[float, list[float]]:
    """Jobs a second that retention deletes, each with 3 events, a conversation and a mark; claims beside it in ms."""
    fill(connection, 10_000, 100)
    connection.execute(text(_FINISHED), {"rows": jobs})
    connection.execute(text("INSERT INTO conversations (id, tenant_id) SELECT conversation_id, tenant_id FROM jobs"))
    connection.execute(text(_STORIES))
    connection.execute(text("CHECKPOINT"))
    engine, done, claims = connection.engine, Event(), list[float]()

    def claim_on() -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as own:
            while not done.is_set():
                claims.append(claim(own) * 1000)

    beside = Thread(target=claim_on)
    beside.start()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        Retention(engine, blobs.open_store(Path(folder).as_uri()), 30, 30, 30).delete_expired()
    spent = time.perf_counter() - began
    done.set()
    beside.join()
    left = connection.execute(
        text("SELECT count(*) FROM jobs WHERE finished_at < now() - interval '30 days'")
    ).scalar_one()
    return (jobs - left) / spent, claims


def measure(connection: Connection) -> dict[str, float]:
    """Median milliseconds of each operation."""
    for operation in (submit, claim, complete):
        operation(connection)
    return {
        name: statistics.median(operation(connection) for _ in range(_TIMES)) * 1000
        for name, operation in OPERATIONS.items()
    }
