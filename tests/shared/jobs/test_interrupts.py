"""A job that is over gives its slot back, whatever it computes; what cannot be interrupted costs its process."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from shared.errors import JobCancelled
from shared.jobs.delivery import notifications
from shared.jobs.record import statements, submission
from shared.jobs.running.interrupts import Interruptible, JobInterrupted
from shared.jobs.running.leases import (
    INTERRUPT_AFTER_SECONDS,
    KILL_AFTER_SECONDS,
    MAX_SECONDS_BETWEEN,
    STUCK_AFTER_SECONDS,
)
from shared.kinds import KINDS
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for
from tests.support.rows import job_row


def _burn(seconds: float) -> str:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass
    return "done"


def test_a_computation_is_interrupted_once_and_its_thread_goes_on() -> None:
    computation = Interruptible()
    outcome: list[str] = []

    def work() -> None:
        try:
            computation.run(lambda: _burn(60))
        except JobCancelled:
            outcome.append("cancelled")
        outcome.append(_burn(0.1))

    thread = threading.Thread(target=work)
    thread.start()
    while not computation.interrupt():
        time.sleep(0.001)
    assert not computation.interrupt()
    thread.join(20)
    assert outcome == ["cancelled", "done"]
    assert not computation.interrupt()


def test_what_follows_a_computation_is_never_interrupted() -> None:
    """Interrupted at a random moment around its end, thousands of times."""
    rng, faults = random.Random(1), []

    def work(computation: Interruptible, begun: threading.Event) -> None:
        begun.set()
        with suppress(JobCancelled):
            computation.run(lambda: _burn(0.0005))
        try:
            _burn(0.0005)
        except JobInterrupted as fault:
            faults.append(fault)

    for _ in range(1500):
        computation, begun = Interruptible(), threading.Event()
        thread = threading.Thread(target=work, args=(computation, begun))
        thread.start()
        begun.wait()
        time.sleep(rng.uniform(0, 0.001))
        computation.interrupt()
        thread.join()
    assert faults == []


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    started.reconciler()
    yield started
    started.stop()


def _cancel(platform: Platform, job_id: str, tenant: str = "t") -> None:
    wait_for(lambda: platform.job(job_id)["state"] == "running")
    with platform.engine.begin() as connection:
        connection.execute(statements.cancel(job_id, tenant))


@pytest.mark.slow
def test_jobs_of_every_kind_that_compute_without_end_give_their_slots_back(platform: Platform) -> None:
    platform.start("tests.support.worker_process", ASSAY_CONCURRENCY=str(len(KINDS) + 1), ENDLESS="yes")
    neighbour = platform.submit("sleep 600", tenant_id="neighbour")
    rows = [
        job_row(kind=kind.name, input=dict(kind.example.input)) for kind in KINDS.values() if kind.name != "execute"
    ]
    with platform.engine.begin() as connection:
        for row in rows:
            connection.execute(submission.submit(row))
    for row in rows:
        notifications.notify(platform.redis, str(row["kind"]), str(row["id"]))
    jobs = [*(str(row["id"]) for row in rows), platform.submit("burn 600")]
    for job in jobs:
        _cancel(platform, job)
    assert {platform.wait(job, seconds=20)["state"] for job in jobs} == {"cancelled"}
    platform.wait_all([platform.submit("effect") for _ in KINDS], seconds=5)
    assert platform.job(neighbour)["state"] == "running"
    assert platform.job(neighbour)["attempt"] == 1


def test_an_interruption_comes_within_two_seconds() -> None:
    """A cancellation is noticed with one heartbeat, and the job interrupted with the next."""
    assert max(INTERRUPT_AFTER_SECONDS, MAX_SECONDS_BETWEEN) + MAX_SECONDS_BETWEEN <= 1.5


@pytest.mark.slow
def test_a_slot_that_cannot_be_had_back_ends_the_worker_and_no_other_job(platform: Platform) -> None:
    worker = platform.start("tests.support.worker_process", ASSAY_CONCURRENCY="3", ASSAY_GRACE_SECONDS="60")
    deaf = platform.submit("deaf 600")
    _cancel(platform, deaf)
    others = [platform.submit(f"effect sleep {KILL_AFTER_SECONDS + STUCK_AFTER_SECONDS + more}") for more in (1, 3)]
    platform.wait_all(others, seconds=60)
    assert {platform.job(job)["attempt"] for job in others} == {1}
    wait_for(lambda: worker.poll() is not None, 20, "the worker ends")
    platform.start("tests.support.worker_process")
    platform.wait_all([platform.submit("effect")], seconds=60)
