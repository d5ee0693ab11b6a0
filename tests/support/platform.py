"""Real worker and reconciler processes on real servers, and a checker of what their history must look like."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from redis import Redis
from sqlalchemy import RowMapping, select, text
from sqlalchemy.exc import OperationalError

from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs import notifications, submission
from shared.jobs.tables import job_events, jobs
from shared.settings import StoreSettings
from tests.support.rows import job_row
from tests.support.wait import until

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


def wait_for(condition: Callable[[], T | None], seconds: float = 30, what: str = "the condition") -> T:
    """``until`` for conditions that ask servers which the test may have stopped."""

    def answered() -> T | None:
        with suppress(OperationalError):
            return condition()
        return None

    return until(answered, what, seconds)


class Platform:
    """Workers and reconcilers as processes; jobs are submitted as the gateway does it."""

    def __init__(self, stores: StoreSettings, *, lease_seconds: float = 2.0, concurrency: int = 4) -> None:
        self.stores = stores
        self.engine = connect(stores.database_url, pool_size=8)
        self.redis = Redis.from_url(stores.redis_url, socket_connect_timeout=1, socket_timeout=2)
        self.processes: list[subprocess.Popen[bytes]] = []
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "DATABASE_URL": stores.database_url,
            "REDIS_URL": stores.redis_url,
            "BLOB_URL": stores.blob_url,
            "ASSAY_LEASE_SECONDS": str(lease_seconds),
            "ASSAY_CONCURRENCY": str(concurrency),
            "ASSAY_GRACE_SECONDS": "2",
        }
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS effects (job_id text)"))

    def start(self, module: str, **variables: str) -> subprocess.Popen[bytes]:
        environment = {**self._environment, **variables}
        process = subprocess.Popen([sys.executable, "-m", module], env=environment, cwd=ROOT)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("tests.support.worker_process")

    def ready_worker(self) -> subprocess.Popen[bytes]:
        """A worker that has advertised itself."""
        worker = self.worker()
        said = text("SELECT 1 FROM workers WHERE split_part(id, ':', 2) = :pid")

        def listens() -> bool:
            with self.engine.connect() as connection:
                return connection.execute(said, {"pid": str(worker.pid)}).first() is not None

        wait_for(listens, 60, "a worker that listens")
        self.wait_all([self.submit("hello")])
        return worker

    def reconciler(self) -> subprocess.Popen[bytes]:
        return self.start("services.reconciler")

    def submit(
        self,
        code: str = "effect",
        *,
        tenant: str = "t",
        notify: bool = True,
        priority: int = 5,
        conversation: str | None = None,
    ) -> str:
        row = job_row(tenant_id=tenant, priority=priority, input={"language": "python", "code": code})
        if conversation:
            row["conversation_id"] = conversation
        job_id = str(row["id"])
        with self.engine.begin() as connection:
            connection.execute(submission.submit(row))
        if notify:
            notifications.notify(self.redis, "execute", job_id)
        return job_id

    def job(self, job_id: str) -> RowMapping:
        with self.engine.connect() as connection:
            return connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one()

    def events(self, job_id: str) -> Sequence[RowMapping]:
        query = select(job_events).where(job_events.c.job_id == job_id).order_by(job_events.c.seq)
        with self.engine.connect() as connection:
            return connection.execute(query).mappings().all()

    def wait(self, job_id: str, seconds: float = 30) -> RowMapping:
        self.wait_all([job_id], seconds)
        return self.job(job_id)

    def wait_all(self, job_ids: Iterable[str], seconds: float = 60) -> None:
        wanted = list(job_ids)
        wait_for(lambda: self.ended(wanted) == len(wanted), seconds, f"the end of {len(wanted)} jobs")

    def ended(self, job_ids: Sequence[str]) -> int:
        """How many of the jobs have ended."""
        query = text("SELECT count(*) FROM jobs WHERE id = ANY(:ids) AND finished_at IS NOT NULL")
        with self.engine.connect() as connection:
            return int(connection.execute(query, {"ids": list(job_ids)}).scalar_one())

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.engine.dispose()
        self.redis.close()


def check_history(platform: Platform, job_ids: Sequence[str], state: JobState = JobState.SUCCEEDED) -> None:
    """Each job reached exactly one terminal state, no effect came twice, no fence went back, no event is lost."""
    with platform.engine.connect() as connection:
        effects = connection.execute(text("SELECT job_id, count(*) FROM effects GROUP BY job_id")).all()
    assert all(count == 1 for _, count in effects), "an effect came twice"
    counted = {job_id for job_id, _ in effects}
    for job_id in job_ids:
        job, events = platform.job(job_id), platform.events(job_id)
        assert job["state"] == state, (job_id, job["state"], job["error"])
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert events[0]["type"] == "job_queued"
        terminal = [event["type"] for event in events if event["type"].removeprefix("job_") in set(JobState)]
        assert [name for name in terminal if name not in ("job_queued", "job_running")] == [f"job_{state}"]
        assert events[-1]["type"] == f"job_{state}"
        fences = [event["fence"] for event in events]
        assert fences == sorted(fences), "a fence went back"
        if job["input"]["code"].startswith("effect"):
            assert (job_id in counted) == (state == JobState.SUCCEEDED)
