"""Workers and reconcilers die: every accepted job still ends exactly once."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from sqlalchemy import text

from services.host.child import RunningProcess
from shared.contracts.jobs import JobState
from shared.jobs.delivery import notifications
from shared.jobs.record import statements
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow(seconds=5), pytest.mark.chaos]


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


@pytest.fixture
def patient(stores: StoreSettings) -> Iterator[Platform]:
    """With a lease that no busy machine breaks by itself."""
    started = Platform(stores, lease_seconds=20)
    yield started
    started.stop()


def ended(platform: Platform, jobs: Sequence[str], least: int) -> bool:
    return platform.ended(jobs) >= least


def test_workers_killed_at_random_lose_nothing_and_double_nothing(platform: Platform) -> None:
    platform.reconciler()
    jobs = platform.submit_all(["effect sleep 0.005"] * 1000)
    workers = [platform.worker(), platform.worker()]
    dice = random.Random(7)
    for least in sorted(dice.sample(range(len(jobs) * 9 // 10), 12)):
        wait_for(partial(ended, platform, jobs, least), 120, f"the end of {least} jobs")
        victim = dice.randrange(len(workers))
        workers[victim].kill()
        workers[victim] = platform.worker()
    platform.wait_all(jobs, 120)
    check_history(platform, jobs)


def test_a_notification_popped_by_a_worker_that_dies_at_once_is_sent_again(platform: Platform) -> None:
    platform.reconciler()
    job = platform.submit("effect")
    assert platform.redis.rpop(notifications.queue_name("execute")) is not None  # popped, and its taker is dead
    platform.worker()
    platform.wait(job)
    check_history(platform, [job])


def test_a_job_that_kills_its_worker_is_dead_after_three_crashes(platform: Platform) -> None:
    platform.reconciler()
    job = platform.submit("crash")
    for _ in range(3):
        assert platform.worker().wait(60) == -signal.SIGKILL
    dead = platform.wait(job)
    assert (dead["state"], dead["crashes"], dead["attempt"]) == ("dead", 3, 3)
    assert dead["error"]["code"] == "worker_crashed"
    check_history(platform, [job], JobState.DEAD)
    platform.worker()  # the next one is not bothered by it
    platform.wait_all([platform.submit("effect")])


def test_a_job_that_kills_its_worker_takes_no_other_job_with_it(platform: Platform) -> None:
    platform.reconciler()
    worker = platform.ready_worker()
    culprit = platform.submit("sleep 0.5 crash", tenant="bad")
    innocent = platform.submit_all(["effect sleep 1"] * 3)

    def died(worker: RunningProcess) -> bool:
        return worker.poll() is not None or platform.job(culprit)["state"] == "dead"

    deaths = 0
    while platform.job(culprit)["state"] not in ("dead", "succeeded"):
        wait_for(partial(died, worker), 120, "the next death")
        if worker.poll() is not None:
            deaths += 1
            worker = platform.worker()
    platform.wait_all(innocent, 120)
    assert {platform.job(job)["state"] for job in innocent} == {"succeeded"}
    assert {platform.job(job)["crashes"] for job in innocent} == {0}
    assert platform.job(culprit)["crashes"] == 3
    assert deaths <= 4  # once with others, then alone
    check_history(platform, innocent)


def _wait_for_the_end_of_its_lease(platform: Platform, job: str) -> None:
    """A worker that is stopped within a transaction keeps the job's row until Postgres ends that, after 60 s."""
    wait_for(lambda: platform.job(job)["state"] == "queued", 90, "the lease's end")


def test_a_worker_stopped_past_its_lease_cannot_write_any_more(platform: Platform) -> None:
    platform.reconciler()
    frozen = platform.worker()
    job = platform.submit("effect sleep 1")
    wait_for(lambda: platform.job(job)["state"] == "running")
    frozen.send_signal(signal.SIGSTOP)
    _wait_for_the_end_of_its_lease(platform, job)
    platform.worker()
    wait_for(lambda: platform.job(job)["attempt"] >= 2)
    frozen.send_signal(signal.SIGCONT)
    assert platform.wait(job)["attempt"] >= 2
    platform.wait_all([platform.submit("sleep 1.5")])  # time for the late write
    check_history(platform, [job])


def test_a_job_whose_worker_gets_no_processor_again_and_again_is_not_dead(platform: Platform) -> None:
    platform.reconciler()
    starved = platform.ready_worker()
    job = platform.submit("effect sleep 3")
    for _ in range(4):  # once more than crashes are allowed
        wait_for(lambda: platform.job(job)["state"] == "running", what="the next run")
        starved.send_signal(signal.SIGSTOP)
        _wait_for_the_end_of_its_lease(platform, job)
        assert platform.job(job)["crashes"] == 1
        starved.send_signal(signal.SIGCONT)
        wait_for(lambda: platform.job(job)["crashes"] == 0, what="the worker to take its crash back")
    ended = platform.wait(job)
    assert (ended["state"], ended["crashes"]) == ("succeeded", 0)
    check_history(platform, [job])


def test_one_kill_and_starved_workers_do_not_add_up_to_a_dead_job(platform: Platform) -> None:
    platform.reconciler()
    job = platform.submit("effect sleep 3")
    platform.ready_worker_of(job).kill()
    for _ in range(2):
        worker = platform.ready_worker_of(job)
        worker.send_signal(signal.SIGSTOP)
        _wait_for_the_end_of_its_lease(platform, job)
        worker.send_signal(signal.SIGCONT)
        wait_for(lambda: platform.job(job)["crashes"] == 1, what="only the kill to count")
        worker.send_signal(signal.SIGTERM)
        worker.wait(30)
    platform.worker()
    ended = platform.wait(job)
    assert (ended["state"], ended["crashes"]) == ("succeeded", 1)
    check_history(platform, [job])


def test_a_rolling_restart_hands_jobs_over_without_a_crash(patient: Platform) -> None:
    platform = patient
    platform.reconciler()
    old = [platform.ready_worker(), platform.ready_worker()]
    jobs = platform.submit_all(f"effect sleep {0.1 if n % 10 else 4}" for n in range(60))
    wait_for(lambda: any(platform.job(job)["state"] == "running" for job in jobs))
    for worker in old:
        platform.worker()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    platform.wait_all(jobs)
    check_history(platform, jobs)
    assert {platform.job(job)["crashes"] for job in jobs} == {0}


def test_two_reconcilers_have_one_leader_and_survive_its_death(platform: Platform) -> None:
    first, _ = platform.reconciler(), platform.reconciler()
    platform.ready_worker()
    first.kill()
    job = platform.submit("effect", notify=False)
    platform.wait(job)
    check_history(platform, [job])


def test_a_forged_notification_runs_nothing(platform: Platform) -> None:
    platform.ready_worker()
    for kind in ("execute", "flow", "nonsense"):
        notifications.notify(platform.redis, kind, "no such job")
    job = platform.submit("effect")
    platform.wait(job)
    with platform.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM effects WHERE job_id = 'no such job'")).scalar() == 0
        assert connection.execute(statements.claim("execute", "w", 1).clause).first() is None
    check_history(platform, [job])
