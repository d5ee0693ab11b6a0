"""Real worker and reconciler processes on real servers, and a checker of what their history must look like."""

from __future__ import annotations

import os
import signal
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from sqlalchemy import ARRAY, RowMapping, Text, any_, bindparam, select, text
from sqlalchemy.exc import OperationalError

from services.host.environment import python_path
from services.host.prefork import Prefork, PreforkedProcess
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.delivery import notifications
from shared.jobs.record import submission
from shared.jobs.record.tables import job_events, jobs
from shared.redis_urls import client
from shared.settings import StoreSettings
from tests.support.rows import job_row
from tests.support.wait import until

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


def wait_for(condition: Callable[[], T | None], seconds: float = 90, what: str = "the condition") -> T:
    """Wait like ``until``, for conditions that query servers which the test may have stopped."""

    def answered() -> T | None:
        with suppress(OperationalError):
            return condition()
        return None

    return until(answered, what, seconds)


_OUTPUT = Path("/dev/stderr")  #: of the process that prints, so that a failing test shows it


def spawn(module: str, environment: Mapping[str, str]) -> PreforkedProcess:
    """``python -m module``, with the imports that it shares with others done already, as with ``assay up``."""
    return _prefork().spawn(module, [], {**environment, "PYTHONPATH": python_path(os.environ)}, ROOT, _OUTPUT)


@cache
def _prefork() -> Prefork:
    """One for the whole run."""
    return Prefork(_OUTPUT)


class Platform:
    """Workers and reconcilers as processes; jobs are submitted as the gateway does it."""

    def __init__(
        self, stores: StoreSettings, *, lease_seconds: float = 2.0, concurrency: int = 4, grace_seconds: float = 2
    ) -> None:
        self.stores = stores
        self.engine = connect(stores.database_url, connections=16)
        self.redis = client(stores.redis_url, socket_connect_timeout=1, socket_timeout=2)
        self.processes: list[PreforkedProcess] = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "DATABASE_URL": stores.database_url,
            "REDIS_URL": stores.redis_url,
            "BLOB_URL": stores.blob_url,
            "ASSAY_LEASE_SECONDS": str(lease_seconds),
            "ASSAY_CONCURRENCY": str(concurrency),
            "ASSAY_GRACE_SECONDS": str(grace_seconds),
        }
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS effects (job_id text)"))

    def start(self, module: str, **variables: str) -> PreforkedProcess:
        process = spawn(module, {**self.environment, **variables})
        self.processes.append(process)
        return process

    def worker(self) -> PreforkedProcess:
        return self.start("tests.support.worker_process")

    def ready_worker(self) -> PreforkedProcess:
        """A worker that has advertised itself."""
        worker = self.worker()
        said = text("SELECT 1 FROM workers WHERE split_part(id, ':', 2) = :pid")

        def listens() -> bool:
            with self.engine.connect() as connection:
                return connection.execute(said, {"pid": str(worker.pid)}).first() is not None

        wait_for(listens, 60, "a worker that listens")
        self.wait_all([self.submit("hello")])
        return worker

    def ready_worker_of(self, job: str) -> PreforkedProcess:
        """A new worker that runs the job."""
        worker = self.worker()
        wait_for(lambda: self.job(job)["state"] == "running", 60, "a worker that runs it")
        return worker

    def reconciler(self) -> PreforkedProcess:
        return self.start("services.reconciler")

    def gateway(self, port: int) -> PreforkedProcess:
        """One that listens."""
        process = self.start("services.gateway", ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1")

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_for(listens, 60, "a gateway that listens")
        return process

    def submit(self, code: str = "effect", *, notify: bool = True, **columns: object) -> str:
        [job_id] = self.submit_all([code], notify=notify, **columns)
        return job_id

    def submit_all(self, codes: Iterable[str], *, notify: bool = True, **columns: object) -> list[str]:
        """Submit jobs in one transaction, and notify after it."""
        rows = [job_row(input={"language": "python", "code": code}, **columns) for code in codes]
        job_ids = [str(row["id"]) for row in rows]
        with self.engine.begin() as connection:
            for row in rows:
                connection.execute(submission.submit(row))
        if notify:
            for job_id in job_ids:
                notifications.notify(self.redis, "execute", job_id)
        return job_ids

    def job(self, job_id: str) -> RowMapping:
        with self.engine.connect() as connection:
            return connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one()

    def events(self, job_id: str) -> Sequence[RowMapping]:
        return self.histories([job_id])[0][1]

    def histories(self, job_ids: Sequence[str]) -> Sequence[tuple[RowMapping, Sequence[RowMapping]]]:
        """Each job and its events."""
        wanted = select(jobs).where(jobs.c.id == any_(bindparam("ids", type_=ARRAY(Text))))
        told = select(job_events).where(job_events.c.job_id == any_(bindparam("ids", type_=ARRAY(Text))))
        with self.engine.connect() as connection:
            rows = {row["id"]: row for row in connection.execute(wanted, {"ids": job_ids}).mappings()}
            events = defaultdict[str, list[RowMapping]](list)
            for event in connection.execute(told.order_by(job_events.c.seq), {"ids": job_ids}).mappings():
                events[event["job_id"]].append(event)
        return [(rows[job_id], events[job_id]) for job_id in job_ids]

    def wait(self, job_id: str, seconds: float = 90) -> RowMapping:
        self.wait_all([job_id], seconds)
        return self.job(job_id)

    def wait_all(self, job_ids: Iterable[str], seconds: float = 120) -> None:
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
    for job, events in platform.histories(job_ids):
        job_id = job["id"]
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
