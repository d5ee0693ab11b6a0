"""A job as its worker holds it, and all that a capability may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event as Flag
from typing import BinaryIO, Protocol, TypeVar

from pydantic import BaseModel, JsonValue
from sqlalchemy import Connection

from shared.contracts.files import FileInfo
from shared.contracts.jobs import JobState
from shared.llm.chat import ChatMessage, Prompts, Provider
from shared.loop import Budget


@dataclass(frozen=True)
class Job:
    """A claimed row of ``jobs``: what a worker knows of the job that it runs."""

    #: A UUIDv7: ids grow with time, so sorting by id sorts by arrival.
    id: str
    #: Whose job this is. Everything that it reads (files, flows, collections, earlier results) is of this tenant.
    tenant_id: str
    #: Which capability runs it, for example ``execute``; also the name of the queue that its notifications go to.
    kind: str
    #: RUNNING while a worker holds it; see ``shared.jobs.record.statements`` for how states follow each other.
    state: JobState
    #: The request as the client sent it; the runner validates it against the kind's input model before each run.
    input: Mapping[str, JsonValue]
    #: How many times a worker has begun this job, this time included: 1 in the first run.
    attempt: int
    #: Grows with every claim. A worker writes only under its own claim's fence, so a late write of one whose lease
    #: ran out is refused.
    fence: int
    #: After this moment (database clock) another worker may claim the job; the heartbeat moves it on.
    lease_until: datetime
    #: The conversation that the job belongs to: a client's, or one of the job's own. Jobs of one conversation run one
    #: after the other, read its last messages, and add theirs when they succeed.
    conversation_id: str
    #: Names and values that the client attached, to find its jobs again (``GET /v1/jobs?label=name:value``). They never
    #: change what the job does.
    labels: Mapping[str, str]
    #: The id of the API key that submitted the job: who is named as the author of changes that the job makes.
    actor: str


class Files(Protocol):
    """The tenant's files, read and written by id."""

    def info(self, file_id: str) -> FileInfo:
        """Return the file's metadata. Raises: NotFound."""
        ...

    def open(self, file_id: str) -> AbstractContextManager[BinaryIO]:
        """Open a seekable stream of the content. Raises: NotFound."""
        ...

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        """Place the content at ``target``, read-only: it may be the stored file itself. Raises: NotFound."""
        ...

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        """Keep a file that the job produced."""
        ...


#: Something that a job does in the completing transaction. What it returns replaces those fields of the result:
#: only in that transaction is it known what the database holds in the end.
Effect = Callable[[Connection], Mapping[str, JsonValue] | None]


class Report(Protocol):
    """What a job reports: events as they happen; the rest is written once, when the job completes."""

    def event(self, type: str, **data: JsonValue) -> None:
        """Append an event (at most 16 kB; long strings are cut)."""
        ...

    def turn(self, number: int, proposal: JsonValue, outcome: JsonValue) -> None: ...

    def thinking(self, message: str, **data: JsonValue) -> None: ...

    def output(self, stream: str, text: str) -> None: ...

    def warn(self, text: str) -> None:
        """Add a warning for a person to the job."""
        ...

    def remember(self, user: str, assistant: str, tool_calls: Sequence[Mapping[str, JsonValue]] = ()) -> None:
        """Set the pair that this job adds to its conversation when it succeeds."""
        ...

    def form(self, name: str, media_type: str, body: bytes) -> None:
        """Add another form of the result, served at ``GET /v1/jobs/{id}/result?format=name``."""
        ...

    def effect(self, apply: Effect) -> None:
        """Run ``apply`` inside the completing transaction: once, if the job succeeds and still holds its fence."""
        ...


@dataclass(frozen=True)
class FinishedJob:
    id: str
    kind: str
    input: Mapping[str, JsonValue]
    result: Mapping[str, JsonValue]


class Results(Protocol):
    """Earlier jobs of the same tenant, for follow-ups."""

    def of(self, job_id: str) -> FinishedJob | None: ...

    def latest(self, kind: str) -> FinishedJob | None:
        """Return the newest succeeded job of that kind in this job's conversation."""
        ...


@dataclass(frozen=True)
class Context:
    """Everything a capability may use; side effects that outlive the job happen in the completing statement."""

    job: Job
    llm: Provider
    prompts: Prompts
    history: Sequence[ChatMessage]  #: the conversation's last 6 pairs
    files: Files
    results: Results
    budget: Budget
    report: Report
    cancelled: Flag  #: set when the job was cancelled or its lease was lost; stop soon, raise JobCancelled


InputModel = TypeVar("InputModel", bound=BaseModel)
Capability = Callable[[Context, InputModel], BaseModel]
