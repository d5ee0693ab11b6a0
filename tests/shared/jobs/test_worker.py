"""What a worker makes of what its capabilities do: results, errors, cancellations, effects, memories."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from shared import conversations
from shared.jobs.delivery import notifications
from shared.jobs.record import statements, submission
from shared.jobs.running.leases import KILL_AFTER_SECONDS
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for
from tests.support.rows import job_row


@pytest.fixture(scope="module")
def platform(stores: StoreSettings) -> Iterator[Platform]:
    """One worker and one reconciler for all of these."""
    started = Platform(stores)
    started.reconciler()
    started.ready_worker()
    yield started
    started.stop()


def cancel(platform: Platform, job_id: str) -> None:
    with platform.engine.begin() as connection:
        connection.execute(statements.cancel(job_id, "t"))


def test_a_process_that_lives_touches_its_file(platform: Platform, tmp_path: Path) -> None:
    """And one that hangs does not, which the liveness probes of deploy/helm check."""
    modules = ("tests.support.worker_process", "services.reconciler")
    living, hanging = ([tmp_path / f"{name}-{module}" for module in modules] for name in ("living", "hanging"))
    for file in living:
        platform.start(file.name.partition("-")[2], ASSAY_READY_FILE=str(file))
    hung = [platform.start(file.name.partition("-")[2], ASSAY_READY_FILE=str(file)) for file in hanging]
    for file in (*living, *hanging):
        wait_for(file.exists, 60, "the process is ready")
        _is_touched(file)
    for process, file in zip(hung, hanging, strict=True):
        process.send_signal(signal.SIGSTOP)
        os.utime(file, (0, 0))
    for file in living * 2:  # from the first touch to the second is as long as a process lets its file be
        _is_touched(file)
    assert [file.stat().st_mtime for file in hanging] == [0, 0]


def _is_touched(file: Path) -> None:
    os.utime(file, (0, 0))
    wait_for(lambda: file.stat().st_mtime > 0, 30, "the process touches its file")


def test_a_result_and_its_events_are_kept(platform: Platform) -> None:
    job = platform.wait(platform.submit("event"))
    assert (job["state"], job["result"]) == ("succeeded", {"said": "event"})
    assert [event["type"] for event in platform.events(job["id"])] == [
        "job_queued",
        "job_started",
        "thinking",
        "job_succeeded",
    ]


def test_an_error_of_the_capability_is_the_jobs_error(platform: Platform) -> None:
    job = platform.wait(platform.submit("fail"))
    assert job["state"] == "failed"
    assert (job["error"]["code"], job["error"]["detail"]) == ("user_code_failed", "as told")
    assert platform.events(job["id"])[-1]["data"] == {"code": "user_code_failed"}


def test_a_defect_of_ours_is_told_without_its_details(platform: Platform) -> None:
    job = platform.wait(platform.submit("bug"))
    assert job["error"]["code"] == "internal_error"
    assert "secret" not in str(job["error"])


def test_what_an_effect_returns_replaces_that_part_of_the_result(platform: Platform) -> None:
    assert platform.wait(platform.submit("corrected"))["result"] == {"said": "otherwise\u2400"}


def test_an_effect_that_is_refused_fails_the_job_and_undoes_the_others(platform: Platform) -> None:
    job = platform.wait(platform.submit("effect refused-effect"))
    assert (job["state"], job["error"]["code"]) == ("failed", "user_code_failed")
    with platform.engine.connect() as connection:
        effect = connection.execute(text("SELECT 1 FROM effects WHERE job_id = :id"), {"id": job["id"]}).first()
    assert effect is None


def test_a_conversation_gets_its_pair_only_from_a_job_that_succeeds(platform: Platform) -> None:
    jobs = platform.submit_all(["remember fail", "remember"], conversation_id="talk")
    platform.wait_all(jobs)
    with platform.engine.connect() as connection:
        messages = connection.execute(conversations.history("t", "talk")).all()
    assert [message.content for message in messages] == ["answer", "question"]


@pytest.mark.slow
def test_a_running_job_that_listens_is_cancelled_within_two_seconds(platform: Platform) -> None:
    job_id = platform.submit("effect sleep 60")
    wait_for(lambda: platform.job(job_id)["state"] == "running")
    cancel(platform, job_id)
    assert platform.wait(job_id, seconds=2)["state"] == "cancelled"
    assert platform.events(job_id)[-1]["type"] == "job_cancelled"


@pytest.mark.slow
def test_a_running_job_that_does_not_listen_is_ended_all_the_same(platform: Platform) -> None:
    job_id = platform.submit("effect deaf 8")
    wait_for(lambda: platform.job(job_id)["state"] == "running")
    cancel(platform, job_id)
    assert platform.wait(job_id, seconds=KILL_AFTER_SECONDS + 3.5)["state"] == "cancelled"
    platform.wait_all([platform.submit("sleep 4")])  # its late result comes in now
    assert platform.job(job_id)["state"] == "cancelled"
    with platform.engine.connect() as connection:
        assert connection.execute(text("SELECT 1 FROM effects WHERE job_id = :id"), {"id": job_id}).first() is None


@pytest.mark.slow
def test_ten_thousand_jobs_of_one_tenant_do_not_delay_anothers(platform: Platform) -> None:
    rows = text(
        "INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, last_seq, notified_at) "
        """SELECT 'flood-' || n, 'flood', 'execute', '{"language": "python", "code": "sleep 0.05"}', 'flood-' || n, """
        "'test', 1, clock_timestamp() FROM generate_series(1, 10000) n"
    )
    with platform.engine.begin() as connection:
        connection.execute(rows)
    wait_for(lambda: platform.job("flood-1")["state"] != "queued")
    other = platform.wait(platform.submit("hello", tenant_id="other"), seconds=10)
    with platform.engine.begin() as connection:
        between = connection.execute(
            text("SELECT count(*) FROM jobs WHERE tenant_id = 'flood' AND started_at BETWEEN :from AND :to"),
            {"from": other["created_at"], "to": other["started_at"]},
        ).scalar_one()
        connection.execute(text("DELETE FROM jobs WHERE tenant_id = 'flood' AND state = 'queued'"))
    assert between <= 2 * 4  # two rounds of the worker's four threads


@pytest.mark.slow
def test_a_long_queue_of_one_kind_does_not_keep_the_threads_from_another(platform: Platform) -> None:
    worker = platform.start("tests.support.worker_process", ALSO_TRANSFORMS="yes")
    try:
        long = platform.submit_all(["sleep 0.05"] * 400)
        wait_for(lambda: platform.ended(long) > 8, 60, "its threads are at it")
        row = job_row(kind="transform", input={"task": "anything"})
        with platform.engine.begin() as connection:
            connection.execute(submission.submit(row))
        other = str(row["id"])
        notifications.notify(platform.redis, "transform", other)
        platform.wait_all([other], 120)
        assert platform.ended(long) < 300
        platform.wait_all(long, 120)
    finally:
        worker.kill()
        worker.wait()
