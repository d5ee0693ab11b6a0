"""Statements of every job, one after the other: how long each takes, and what it locks of the tables of events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Executable, text

from shared.contracts.jobs import JobState
from shared.jobs import deletion, queries, statements, submission
from tests.support.rows import job_row

_TIMES = 40  #: that each is measured in a round
_LOCKS = text(
    "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
    "WHERE l.pid = pg_backend_pid() AND (c.relname LIKE 'job_events%' OR c.relname LIKE 'pk_job_events%')"
)


@dataclass
class Job:
    """The one that the statements of a round are about."""

    id: str
    tenant_id: str = "t"
    fence: int = 0


#: In the order of a job's life.
STATEMENTS: dict[str, Callable[[Job], Executable]] = {
    "submit": lambda job: submission.submit(job_row(id=job.id)),
    "claim": lambda job: statements.claim("execute", "w", 60).clause,
    "event": lambda job: statements.append_event(statements.Held.of(job), "turn_taken", {}).clause,
    "complete": lambda job: statements.complete(statements.Held.of(job), JobState.SUCCEEDED, {}, None, [], {}).clause,
    "events of a job": lambda job: queries.events_after(job.id, "t", 0, 100),
    "a job": lambda job: queries.find(job.id, "t"),
    "deletion of a job": lambda job: deletion.delete_job(job.id, "t"),
}


def execute(connection: Connection, name: str, job: Job) -> float:
    """Milliseconds."""
    statement = STATEMENTS[name](job)
    began = time.perf_counter()
    row = connection.execute(statement).first()
    spent = (time.perf_counter() - began) * 1000
    assert row is not None, name
    if name == "claim":
        job.id, job.fence = row.id, row.fence
    return spent


def measure(connection: Connection) -> dict[str, list[float]]:
    """Milliseconds of each operation over some jobs."""
    taken: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(_TIMES):
        job = Job(str(job_row()["id"]))
        for name, each in taken.items():
            each.append(execute(connection, name, job))
    return taken


def locks(engine: Engine) -> dict[str, int]:
    """How many tables and indexes of events each operation locks, once its statement is prepared."""
    most = dict.fromkeys(STATEMENTS, 0)
    with engine.connect() as connection:
        for _ in range(8):  # psycopg prepares a statement when it comes for the sixth time
            job = Job(str(job_row()["id"]))
            for name, statement in STATEMENTS.items():
                row = connection.execute(statement(job)).first()
                if name == "claim" and row is not None:
                    job.id, job.fence = row.id, row.fence
                most[name] = int(connection.execute(_LOCKS).scalar_one())
                connection.commit()  # a rollback would have psycopg forget what is prepared
    return most
