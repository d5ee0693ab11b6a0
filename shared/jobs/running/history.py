"""What came before in a job's conversation: messages, read when a capability first looks, and earlier results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from sqlalchemy import Engine, select
from sqlalchemy.sql import ColumnElement

from shared import conversations
from shared.contracts.jobs import JobState
from shared.jobs.job import FinishedJob
from shared.jobs.record.tables import jobs
from shared.llm.chat import ChatMessage


@dataclass(frozen=True, eq=False)
class History(Sequence[ChatMessage]):
    """The last 6 pairs, oldest first; most kinds of job never read them."""

    engine: Engine
    tenant_id: str
    conversation_id: str

    @cached_property
    def _messages(self) -> tuple[ChatMessage, ...]:
        with self.engine.connect() as connection:
            rows = connection.execute(conversations.history(self.tenant_id, self.conversation_id)).all()
        return conversations.as_chat([(row.role, row.content) for row in rows])

    @overload
    def __getitem__(self, index: int) -> ChatMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ChatMessage]: ...
    def __getitem__(self, index: int | slice) -> ChatMessage | Sequence[ChatMessage]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)


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
