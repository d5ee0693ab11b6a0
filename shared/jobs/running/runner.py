"""The runner: claims a job, runs its capability, and completes it once.

The only place with claim, heartbeat and complete.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog
from obstore.store import ObjectStore
from pydantic import BaseModel, JsonValue
from redis import Redis
from sqlalchemy import Connection, Engine, RowMapping
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shared import tracing
from shared.contracts.jobs import JobState
from shared.errors import AssayError, InternalError, JobCancelled
from shared.jobs import metrics
from shared.jobs.content.files import JobFiles
from shared.jobs.content.storage import StorageQuota
from shared.jobs.delivery.notifier import Notifier
from shared.jobs.job import Capability, Context, Job
from shared.jobs.record import statements
from shared.jobs.record.driver import Values
from shared.jobs.record.statements import Held
from shared.jobs.running.claims import Claims
from shared.jobs.running.ended import Ended, as_json, explained, failed
from shared.jobs.running.history import History, JobResults
from shared.jobs.running.leases import Lease, LeasedWriter, LeaseLost, Leases
from shared.jobs.running.report import JobReport
from shared.jobs.running.suspect_lock import SuspectLock
from shared.llm.chat import Prompts, Provider
from shared.loop import Budget

log = structlog.get_logger(__name__)


class ModelAccess(Protocol):
    """The LLM layer of a process, bound to one job at a time."""

    def for_job(
        self, job: Job, budget: Budget, report: JobReport, overrides: Mapping[str, JsonValue]
    ) -> tuple[Provider, Prompts]:
        """Return the models and the prompts for one job; its calls are counted in ``report.models``."""
        ...

    def load(self, role: str) -> None:
        """Make the role's first request quick."""
        ...


@dataclass(frozen=True)
class ServedKind:
    """One kind of job: how its input reads, and what runs it."""

    input: type[BaseModel]
    capability: Capability[Any]


@dataclass(frozen=True)
class Stores:
    """What a worker is connected to."""

    engine: Engine
    redis: Redis
    blobs: ObjectStore
    models: ModelAccess


class Runner:
    """Claims and runs jobs, one for each call; safe to call from many threads."""

    def __init__(
        self,
        stores: Stores,
        lease_seconds: float,
        tenant_running: int,
        tenant_storage: int,
        default_seconds: float,
        on_heartbeat: Callable[[], None],
    ) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.served: dict[str, ServedKind] = {}
        self._stores = stores
        self._writer = LeasedWriter(stores.engine)
        self._notifier = Notifier(stores.redis)
        self._lock = SuspectLock()
        self._claims = Claims(self._writer.autocommit, self.id, lease_seconds, tenant_running)
        self._tenant_running = tenant_running
        self._tenant_storage = tenant_storage
        self._default_seconds = default_seconds
        self.leases = Leases(stores.engine, lease_seconds, overdue=self._end_overdue, on_heartbeat=on_heartbeat)

    def run_next(self, kind: str) -> bool:
        """Claim the next job of a kind and run it; False when none is waiting. Raises: SQLAlchemyError."""
        with self._lock.shared():
            claimed = self._claims.next(kind)
            if claimed is None:
                return False
            row = claimed.row
            lease = Lease(Held(row["tenant_id"], row["id"], row["fence"]), f"{row['id']}.{claimed.secret}")
            self.leases.hold(lease)
            with structlog.contextvars.bound_contextvars(
                job_id=row["id"],
                attempt=row["attempt"],
                request_id=row["request_id"],
                trace_id=tracing.trace_id_of(row["trace_context"]),
            ):
                try:
                    if row["suspect"]:
                        self._run_alone(row, lease)
                    else:
                        self._run(row, lease)
                except LeaseLost:
                    metrics.fenced_writes.inc()
                    log.warning("lease_lost")
                finally:
                    self.leases.release(lease)
                    if lease.lost.is_set():
                        self.leases.came_back(lease)
        return True

    def _run_alone(self, row: Values, lease: Lease) -> None:
        """Run a job without any other, because a worker died while it ran: if a worker dies again, this job is the
        cause.
        """
        with self._lock.exclusive(lease.cancelled) as free:
            if lease.lost.is_set():
                return
            if not free:
                self._complete(row, lease, self._report(lease), Ended(JobState.CANCELLED))
            elif self._writer.write(statements.begin_alone(lease.held), lease) is not None:
                log.info("runs_alone")
                self._run(row, lease)

    def _run(self, row: Values, lease: Lease) -> None:
        metrics.job_attempts.labels(row["kind"]).inc()
        metrics.job_wait_seconds.labels(row["kind"]).observe((row["started_at"] - row["run_at"]).total_seconds())
        report = self._report(lease)
        self._notifier.started(lease.job_id)
        try:
            with metrics.job_run_seconds.labels(row["kind"]).time(), _span(row) as recorded:
                ended = self._execute(row, lease, report)
                recorded.set(assay__job__outcome=ended.state)
                if ended.error is not None:
                    recorded.fail(str(ended.error.get("code")))
        except (OperationalError, PoolTimeout) as fault:
            # Postgres went away under the run. That is not the job's fault: it starts again when Postgres is back.
            log.warning("run_interrupted", reason=type(fault).__name__)
            self._writer.write(statements.hand_back(lease.held), lease)
            return
        self._complete(row, lease, report, ended)

    def _report(self, lease: Lease) -> JobReport:
        return JobReport(self._writer, self._notifier, lease)

    def _execute(self, row: Values, lease: Lease, report: JobReport) -> Ended:
        """Run the capability; whatever it raises becomes the job's end."""
        served = self.served[row["kind"]]
        try:
            request = served.input.model_validate(row["input"])
            context = self._context(row, lease, report)
            result = lease.computation.run(lambda: served.capability(context, request))
            return Ended(JobState.SUCCEEDED, result=as_json(result))
        except (LeaseLost, OperationalError, PoolTimeout):
            raise
        except Exception as fault:
            if lease.cancelled.is_set() or isinstance(fault, JobCancelled):
                return Ended(JobState.CANCELLED)
            return failed(explained(fault))

    def _context(self, row: Values, lease: Lease, report: JobReport) -> Context:
        job = claimed_job(row)
        given = row["budget"]
        budget = Budget(given.get("turns"), given.get("seconds") or self._default_seconds, given.get("tokens"))
        quota = StorageQuota(self._stores.engine, job.tenant_id, self._tenant_storage)
        llm, prompts = self._stores.models.for_job(job, budget, report, row["overrides"])
        return Context(
            job=job,
            llm=llm,
            prompts=prompts,
            history=History(self._writer.autocommit, job.tenant_id, job.conversation_id),
            files=JobFiles(self._stores.engine, self._stores.blobs, job.tenant_id, job.id, quota),
            results=JobResults(self._stores.engine, job.tenant_id, job.conversation_id),
            budget=budget,
            report=report,
            cancelled=lease.cancelled,
        )

    def _complete(self, row: Values, lease: Lease, report: JobReport, ended: Ended) -> None:
        """Write the end, and with it all that outlives the job, in one fenced transaction."""
        try:
            done = self._write(row, lease, report, ended)
        except AssayError as fault:  # an effect was refused: nothing of it is written, and the job says why
            done = self._write(row, lease, report, failed(fault))
        except SQLAlchemyError:
            log.exception("result_not_storable")
            unstorable = InternalError("The result could not be stored. The log has the details.")
            done = self._write(row, lease, report, failed(unstorable))
        if done is None:
            metrics.fenced_writes.inc()
            log.warning("fenced_off")
            lease.lost.set()
            return
        metrics.jobs_completed.labels(row["kind"], done["state"]).inc()
        code = None if ended.error is None else str(ended.error.get("code"))
        if code is not None:
            metrics.jobs_failed.labels(row["kind"], code).inc()
        report.notify(ended=True)
        if done["next_kind"]:
            self._notifier.work(done["next_kind"], lease.job_id)
        seconds = round((datetime.now(UTC) - row["started_at"]).total_seconds(), 3)
        more = {} if code is None else {"code": code}
        log.info("job_ended", tenant=row["tenant_id"], kind=row["kind"], outcome=done["state"], seconds=seconds, **more)

    def _write(self, row: Values, lease: Lease, report: JobReport, ended: Ended) -> Values | None:
        statement = statements.complete(
            lease.held,
            ended.state,
            ended.result,
            ended.error,
            report.warnings,
            report.usage(),
            self._tenant_running,
        )
        if not report.outlives:
            return self._writer.end(statement, lease)

        def write(connection: Connection) -> Values | None:
            done = connection.execute(statement.clause).mappings().one_or_none()
            if done is not None and done["state"] == JobState.SUCCEEDED:
                report.apply(connection, row["tenant_id"], row["conversation_id"])
            return None if done is None else {**done}

        return self._writer.transact(write, lease)

    def _end_overdue(self, lease: Lease) -> None:
        """End a cancelled job that does not stop; its late write will be refused."""
        statement = statements.complete(lease.held, JobState.CANCELLED, None, None, [], {})
        with self._stores.engine.begin() as connection:
            connection.execute(statement.clause)
        self._notifier.event(lease.job_id, ended=True)
        lease.lost.set()
        log.warning("cancelled_job_did_not_stop", job_id=lease.job_id)

    def hand_back_all(self) -> None:
        """Queue again what still runs, for another worker; the runs here are cancelled."""
        for lease in self.leases.all():
            with suppress(SQLAlchemyError), self._stores.engine.begin() as connection:
                if connection.execute(statements.hand_back(lease.held).clause).first() is not None:
                    log.warning("handed_back", job_id=lease.job_id)
            lease.lost.set()
            lease.cancelled.set()


def _span(row: Values) -> AbstractContextManager[tracing.Recorded]:
    return tracing.span(
        f"job {row['kind']}",
        "consumer",
        row["trace_context"],
        assay__job__id=row["id"],
        assay__job__kind=row["kind"],
        assay__job__attempt=row["attempt"],
        assay__tenant=row["tenant_id"],
        gen_ai__conversation__id=row["conversation_id"],
    )


def claimed_job(row: Values | RowMapping) -> Job:
    """Return the job of a row that was just claimed."""
    return Job(
        id=row["id"],
        tenant_id=row["tenant_id"],
        kind=row["kind"],
        state=JobState(row["state"]),
        input=row["input"],
        attempt=row["attempt"],
        fence=row["fence"],
        lease_until=row["lease_until"],
        conversation_id=row["conversation_id"],
        labels=row["labels"],
        actor=row["actor"],
    )
