"""Leases are renewed while they are held; a write under one is tried again until it lands or the lease is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.record import statements, submission
from shared.jobs.record.statements import Held
from shared.jobs.running.leases import Lease, LeasedWriter, LeaseLost, Leases
from tests.support.rows import job_row
from tests.support.wait import until


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


def claimed(engine: Engine) -> Lease:
    """The lease of a job that was submitted and claimed just now."""
    with engine.begin() as connection:
        connection.execute(submission.submit(job_row()))
        row = connection.execute(statements.claim("execute", "w", 60).clause).one()
    return Lease(Held.of(row))


@pytest.fixture
def leases(engine: Engine) -> Iterator[tuple[Leases, list[str]]]:
    """The leases of a worker, and the ids of the jobs that were overdue."""
    overdue: list[str] = []
    started = Leases(engine, 60, overdue=lambda lease: overdue.append(lease.job_id), on_heartbeat=lambda: None)
    started.start()
    yield started, overdue
    started.stop()


@pytest.mark.slow
def test_a_lease_whose_fence_moved_on_is_lost(engine: Engine, leases: tuple[Leases, list[str]]) -> None:
    job = claimed(engine)
    kept, lost = claimed(engine), leases[0].hold(Lease(job.held._replace(fence=job.held.fence - 1)))
    still = leases[0].hold(kept)
    until(lost.lost.is_set, "the heartbeat notices it")
    assert lost.cancelled.is_set()
    assert not still.lost.is_set()
    assert leases[1] == []


@pytest.mark.slow
def test_a_cancellation_reaches_the_lease_and_a_released_job_is_not_overdue(
    engine: Engine, leases: tuple[Leases, list[str]]
) -> None:
    job = claimed(engine)
    lease = leases[0].hold(job)
    with engine.begin() as connection:
        connection.execute(statements.cancel(job.job_id, "t"))
    until(lease.cancelled.is_set, "the heartbeat notices it")
    assert not lease.lost.is_set()
    leases[0].release(lease)
    assert leases[0].all() == []


def test_a_write_is_tried_again_until_its_lease_is_lost() -> None:
    unreachable = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1")
    writer, lease = LeasedWriter(unreachable), Lease(Held("t", "job", 1))
    ended = Event()

    def write() -> None:
        with pytest.raises(LeaseLost):
            writer.write(statements.begin_alone(lease.held), lease)
        ended.set()

    thread = Thread(target=write)
    thread.start()
    assert not ended.is_set()
    lease.lost.set()
    thread.join(30)
    assert ended.is_set()


@pytest.mark.slow
def test_jobs_that_end_together_do_not_wait_for_one_whose_row_is_held(engine: Engine) -> None:
    first, held, other = (claimed(engine) for _ in range(3))
    writer = LeasedWriter(connect(engine.url.render_as_string(hide_password=False), 4))

    def end(lease: Lease) -> str:
        done = writer.end(statements.complete(lease.held, JobState.SUCCEEDED, {}, None, [], {}), lease)
        return "" if done is None else str(done["state"])

    with ThreadPoolExecutor(3) as threads, engine.connect() as connection:
        connection.execute(
            text("SELECT 1 FROM jobs WHERE id = ANY(:ids) FOR UPDATE"), {"ids": [first.job_id, held.job_id]}
        )
        begun = threads.submit(end, first)  # waits, so that the others come meanwhile
        together = [threads.submit(end, each) for each in (held, other)]
        assert together[1].result(60) == "succeeded"
        assert not begun.done()
        assert not together[0].done()
        connection.rollback()
        assert [each.result(60) for each in (begun, together[0])] == ["succeeded"] * 2
    writer.engine.dispose()


def test_a_transaction_that_fails_by_its_own_fault_is_not_tried_again(engine: Engine) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> None:
        runs.append(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        LeasedWriter(engine).transact(work, Lease(Held("t", "job", 1)))
    assert runs == [1]
