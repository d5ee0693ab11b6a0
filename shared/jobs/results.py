"""Earlier jobs of the same tenant, for follow-ups."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select
from sqlalchemy.sql import ColumnElement

from shared.contracts.jobs import JobState
from shared.jobs.job import FinishedJob
from shared.jobs.tables import jobs


@dataclass(frozen=True)
class JobResults:
    """See ``shared.jobs.job.Results``."""

    engine: Engine
    tenant_id: str
    conversation_id: str

    def of(self, job_id: str) -> FinishedJob | None:
        return self._newest(jobs.c.id == job_id)

    def latest(self, kind: str) -> FinishedJob | None:
        return self._newest(jobs.c.conversation_id == self.conversation_id, jobs.c.kind == kind)

    def _newest(self, *conditions: ColumnElement[bool]) -> FinishedJob | None:
        query = (
            select(jobs.c.id, jobs.c.kind, jobs.c.input, jobs.c.result)
            .where(jobs.c.tenant_id == self.tenant_id, jobs.c.state == JobState.SUCCEEDED, *conditions)
            .order_by(jobs.c.finished_at.desc())
            .limit(1)
        )
        with self.engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else FinishedJob(**row)
