"""What a partition for each day of events costs and gives: ``python -m benchmarks.retention [JOBS]``.

First, statements of every job on the plain table of before (revision 0055), with one partition and with 47:
milliseconds, and how many tables and indexes of events one execution locks. Then, retention of two days of jobs (JOBS
each, 200,000 unless told) between others, while jobs are submitted, claimed and completed: by rows, and by days.
``--minutes 60`` instead: an hour in which 2,000 jobs a second come past retention, a simulated minute after the other.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import structlog
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine, text

from benchmarks.job_statements import STATEMENTS, Job, execute, locks, measure
from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.reconciler.partitions import PastDays
from shared.db import connect
from shared.jobs import maintenance, partitions
from tests.support.event_days import split_into_days
from tests.support.rows import job_row

JOBS = 200_000
_DAYS = 39  #: before today
_A_MINUTE = 120_000  #: jobs
_EVENTS = 4  #: of each job
_ROUNDS = 10
_RETENTION_DAYS = 30
_BATCH = 2_000  #: as of the retention
_BEFORE = "0055"
_SHAPES = ("plain table", "one partition", f"{_DAYS + 8} partitions")
#: Jobs that were submitted evenly over a part of a day, and ended a second later; events, conversation and mark.
_FILL = """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, state, input, result, conversation_id, actor, created_at, finished_at,
                          last_seq, labels)
        SELECT id, 't' || n % 100, 'execute', 'succeeded', '{{"code": "1"}}', '{{"value": 1}}', id, 'k', at,
               at + interval '1 second', {events}, '{{"run": "1"}}'
        FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n CROSS JOIN LATERAL (
            SELECT date_trunc('day', now(), 'UTC') - make_interval(hours => 24 * :days)
                + n * interval '24 hours' / (:of + 1) AS at) AS submitted
        CROSS JOIN LATERAL (SELECT {id_at} || '-7000-8000-' || lpad(n::text, 12, '0') AS id) AS named
        RETURNING id, tenant_id, created_at
    ), event AS (
        INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
        SELECT tenant_id, id, seq, 'turn_taken', 1, '{{"attempt": 1}}'
        FROM job CROSS JOIN generate_series(1, {events}) AS seq
    ), talk AS (
        INSERT INTO conversations (id, tenant_id) SELECT id, tenant_id FROM job
    )
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT tenant_id, job_mark('label', 'run=1'), created_at, id FROM job
"""
_ID_AT = (
    "left(lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0'), 8) || '-' || "
    "right(lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0'), 4)"
)
_SIZES = text(
    """
    SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
    FROM pg_class c WHERE c.relkind = 'r' AND c.relname LIKE 'job_events%'
    """
)


@dataclass
class Beside:
    """Milliseconds of what ran while retention did."""

    claims: list[float] = field(default_factory=list)
    submits: list[float] = field(default_factory=list)


@contextmanager
def engine_of(server: Postgres, shape: str) -> Iterator[Engine]:
    name = f"days_{_SHAPES.index(shape)}_{time.monotonic_ns()}"
    admin = connect(server.url_of("postgres")).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    upgrade(server.url_of(name), _BEFORE if shape == _SHAPES[0] else "head")
    engine = connect(server.url_of(name))
    with engine.begin() as connection:
        if shape == _SHAPES[0]:
            connection.execute(
                text("ALTER TABLE job_events ADD COLUMN IF NOT EXISTS tenant_id text NOT NULL DEFAULT ''")
            )  # as the statements know it
        if shape == _SHAPES[1]:
            connection.execute(
                text(
                    "DO $$ DECLARE name text; BEGIN FOR name IN SELECT p.name FROM job_event_partitions() p "
                    "WHERE p.from_id IS NOT NULL LOOP EXECUTE format('DROP TABLE %I', name); END LOOP; END $$"
                )
            )
        elif shape == _SHAPES[2]:
            split_into_days(connection, _DAYS)
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    admin.dispose()


def compare(server: Postgres, console: Console) -> None:
    results: dict[str, dict[str, list[float]]] = {shape: {name: [] for name in STATEMENTS} for shape in _SHAPES}
    with ExitStack() as opened:
        engines = {shape: opened.enter_context(engine_of(server, shape)) for shape in _SHAPES}
        connections = {
            shape: opened.enter_context(engine.execution_options(isolation_level="AUTOCOMMIT").connect())
            for shape, engine in engines.items()
        }
        for number in range(_ROUNDS + 1):
            for shape, connection in connections.items():
                taken = measure(connection)
                if number:  # the first warms up
                    for name, each in taken.items():
                        results[shape][name] += each
        held = {shape: locks(engine) for shape, engine in engines.items()}
    table = Table("median ms (locks of events)", *_SHAPES, "ratio", title="Statements over partitions of events")
    for name in STATEMENTS:
        medians = {shape: statistics.median(results[shape][name]) for shape in _SHAPES}
        cells = [f"{medians[shape]:.3f} ({held[shape][name]})" for shape in _SHAPES]
        table.add_row(name, *cells, f"{medians[_SHAPES[2]] / medians[_SHAPES[0]]:.2f}")
    console.print(table)


def fill(connection: Connection, jobs: int, days: Sequence[int]) -> None:
    """That many jobs on each of the days before today."""
    for number in days:
        add(connection, number, 1, jobs, jobs)
    for table in ("jobs", "job_events", "job_marks", "conversations"):
        connection.execute(text(f"VACUUM ANALYZE {table}"))
    connection.execute(text("CHECKPOINT"))


def add(connection: Connection, days: int, first: int, last: int, of: int) -> None:
    """The jobs from the first to the last of so many on a day, past all triggers: the bookkeeping is not measured."""
    connection.execute(text("SET statement_timeout = 0"))
    connection.execute(text("SET session_replication_role = replica"))
    statement = text(_FILL.format(id_at=_ID_AT, events=_EVENTS))
    connection.execute(statement, {"first": first, "last": last, "days": days, "of": of})
    connection.execute(text("SET session_replication_role = origin"))


@contextmanager
def busy(engine: Engine) -> Iterator[Beside]:
    """Jobs are submitted, claimed and completed meanwhile."""
    done, beside = Event(), Beside()

    def work() -> None:
        with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as own:
            while not done.is_set():
                job = Job(str(job_row()["id"]))
                beside.submits.append(execute(own, "submit", job))
                beside.claims.append(execute(own, "claim", job))
                execute(own, "complete", job)

    worker = Thread(target=work)
    worker.start()
    try:
        yield beside
    finally:
        done.set()
        worker.join()


def retain(server: Postgres, shape: str, jobs: int, table: Table) -> None:
    """Retention of the two days that are past it, of four that are there."""
    with (
        engine_of(server, shape) as engine,
        engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection,
    ):
        fill(connection, jobs, (_RETENTION_DAYS + 3, _RETENTION_DAYS + 2, _RETENTION_DAYS - 1, 1))
        rows, indexes = connection.execute(_SIZES).one()
        wal = "SELECT pg_current_wal_lsn() - '0/0'"
        with busy(engine) as quiet:
            Event().wait(5)
        start = connection.execute(text(wal)).scalar_one()
        with busy(engine) as beside:
            spent, worked = _delete(engine, by_rows=shape == _SHAPES[0])
        written = connection.execute(text(wal)).scalar_one() - start
        drop, dropping = ("", Beside()) if shape == _SHAPES[0] else _drop(engine)
        after, indexes_after = connection.execute(_SIZES).one()
        began = time.perf_counter()
        connection.execute(text("VACUUM job_events"))
        vacuum = time.perf_counter() - began
    table.add_row(
        shape,
        f"{2 * jobs / spent:,.0f}",
        f"{worked / (2 * jobs) * 1e6:.0f}",
        *(_told(each) for each in (quiet.claims, beside.claims, beside.submits)),
        drop,
        _told(dropping.claims),
        _megabytes((rows, indexes)),
        _megabytes((after, indexes_after)),
        f"{float(written) / (2 * jobs):,.0f}",
        f"{vacuum:.1f}",
    )


def _delete(engine: Engine, by_rows: bool) -> tuple[float, float]:
    """Seconds until every expired job is gone, as ``Retention`` does it, and how many of them Postgres worked.

    ``by_rows`` with events.
    """
    with engine.connect() as connection:
        process = int(connection.connection.driver_connection.info.backend_pid)  # type: ignore[union-attr]
        began, worked = time.perf_counter(), _processor_seconds(process)
        while True:
            with connection.begin():
                if not by_rows:
                    connection.execute(partitions.leave_events())
                expired = connection.execute(maintenance.expired_jobs(_RETENTION_DAYS, _BATCH)).all()
                connection.execute(maintenance.orphaned_conversations([job.conversation_id for job in expired]))
            if len(expired) < _BATCH:
                return time.perf_counter() - began, _processor_seconds(process) - worked


def _processor_seconds(process: int) -> float:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def _drop(engine: Engine) -> tuple[str, Beside]:
    """Seconds of dropping all past days, and how many those were."""
    count = text("SELECT count(*) FROM job_event_partitions()")
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection, busy(engine) as beside:
        before = connection.execute(count).scalar_one()
        began = time.perf_counter()
        PastDays(engine, _RETENTION_DAYS).drop()
        spent = time.perf_counter() - began
        return f"{spent:.2f} ({before - connection.execute(count).scalar_one()})", beside


def _told(taken: Sequence[float]) -> str:
    if len(taken) < 2:
        return ""
    quantiles = statistics.quantiles(taken, n=100)
    return f"{statistics.median(taken):.2f} / {quantiles[98]:.1f} / {max(taken):.0f}"


def pass_minutes(server: Postgres, minutes: int, console: Console) -> None:
    """Each minute, 2,000 jobs come past retention for each second of it, and are to be gone before the next one."""
    taken, beside = list[float](), Beside()
    with (
        engine_of(server, _SHAPES[2]) as engine,
        engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection,
    ):
        for minute in range(minutes):
            first = minute * _A_MINUTE + 1
            add(connection, _RETENTION_DAYS + 2, first, first + _A_MINUTE - 1, minutes * _A_MINUTE)
            with busy(engine) as meanwhile:
                taken.append(_delete(engine, by_rows=False)[0])
            beside.claims += meanwhile.claims
            if minute % 10 == 9:
                console.print(f"minute {minute + 1}: {taken[-1]:.1f} s; claims beside {_told(meanwhile.claims)} ms")
        left = connection.execute(text("SELECT count(*) FROM jobs WHERE finished_at < now() - interval '30 days'"))
        assert left.scalar_one() == 0
        before = connection.execute(_SIZES).one()
        drop, dropping = _drop(engine)
        after = connection.execute(_SIZES).one()
        jobs = connection.execute(text("SELECT pg_table_size('jobs'), pg_indexes_size('jobs')")).one()
    console.print(
        f"{minutes} minutes of {_A_MINUTE:,} jobs: deleted in {taken[0]:.1f} s the first, {taken[-1]:.1f} the last, "
        f"{statistics.median(taken):.1f} the median, {max(taken):.1f} the longest; claims {_told(beside.claims)} ms"
    )
    console.print(
        f"days dropped in {drop} s, claims beside {_told(dropping.claims)} ms; events {_megabytes(before)} MB before, "
        f"{_megabytes(after)} after; jobs {_megabytes(jobs)}"
    )


def _megabytes(sizes: Sequence[int]) -> str:
    return " + ".join(f"{each / 1e6:.0f}" for each in sizes)


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    minutes = int(sys.argv[2]) if sys.argv[1:2] == ["--minutes"] else 0
    jobs = int(sys.argv[-1]) if len(sys.argv) > 1 else JOBS
    console = Console(width=200)
    with tempfile.TemporaryDirectory(prefix="assay-retention-") as folder:
        Path(folder).chmod(0o755)
        with Postgres(Path(folder) / "postgres") as server:
            if minutes:
                pass_minutes(server, minutes, console)
                return
            compare(server, console)
            table = Table(
                *("events in", "jobs/s", "CPU µs/job", "claim before", "claim beside", "submit beside"),
                *("drop s (of)", "claim beside drops", "MB before", "MB after", "WAL B/job", "vacuum s"),
                title=f"Retention of {2 * jobs:,} of {4 * jobs:,} jobs with {_EVENTS} events each",
                caption="claim and submit: median / p99 / most, ms; MB of events: rows + indexes",
            )
            for shape in (_SHAPES[0], _SHAPES[2]) * 2:  # in turn: the machine may have other things to do
                retain(server, shape, jobs, table)
            console.print(table)


if __name__ == "__main__":
    main()
