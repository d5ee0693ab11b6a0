"""Jobs over HTTP: the request, the job itself, its events, batches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import Field, HttpUrl, JsonValue, create_model

from shared.contracts.common import Answer, Problem, Request, Time
from shared.contracts.kinds import KINDS, JobKind


class JobState(StrEnum):
    """Where a job stands; the last four are terminal."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DEAD = "dead"  #: crashed its worker three times

    @property
    def terminal(self) -> bool:
        return self not in (JobState.QUEUED, JobState.RUNNING)


class BudgetInput(Request):
    turns: Annotated[int, Field(ge=1, le=100)] | None = None
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None


class Webhook(Request):
    url: HttpUrl
    events: Annotated[list[Literal["job.finished"]], Field(min_length=1)] = ["job.finished"]


LabelText = Annotated[str, Field(max_length=200)]
Labels = Annotated[dict[Annotated[str, Field(min_length=1, max_length=64)], LabelText], Field(max_length=32)]


class JobRequestFields(Request):
    """Everything of a submit but ``kind`` and ``input``."""

    conversation_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    budget: BudgetInput = Field(default_factory=BudgetInput)
    webhook: Webhook | None = None
    labels: Labels = {}


def _request_of(kind: JobKind) -> type[JobRequestFields]:
    name = f"{kind.value.title()}Job"
    fields: dict[str, Any] = {"kind": (Literal[kind.value], ...), "input": (KINDS[kind].input, ...)}
    return create_model(name, __base__=JobRequestFields, **fields)


REQUESTS: dict[JobKind, type[JobRequestFields]] = {kind: _request_of(kind) for kind in JobKind}
#: A submit: the kind decides which model the input has to fit.
JobRequest: TypeAlias = Annotated[Union[tuple(REQUESTS.values())], Field(discriminator="kind")]  # type: ignore[valid-type]  # noqa: UP007


class ReplayInput(Request):
    """What a replay changes; ``input`` is merged into the old one field by field."""

    input: dict[str, JsonValue] = {}
    model: Annotated[str, Field(max_length=200)] | None = None
    budget: BudgetInput | None = None
    prompt_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class Waiting(Answer):
    reason: Literal["in_queue", "no_worker", "tenant_limit", "retry_at"]
    position: int | None = None
    detail: str | None = None
    retry_at: Time | None = None


class Usage(Answer):
    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Links(Answer):
    self: str
    events: str
    cancel: str


class JobView(Answer):
    """A job as a client sees it; a list leaves ``input`` and ``result`` out."""

    id: str
    kind: JobKind
    state: JobState
    waiting: Waiting | None = None
    attempt: int
    created_at: Time
    started_at: Time | None = None
    finished_at: Time | None = None
    input: dict[str, JsonValue] | None = None
    result: dict[str, JsonValue] | None = None
    error: Problem | None = None
    warnings: list[str] = []
    usage: Usage = Usage()
    conversation_id: str | None = None
    replayed_from: str | None = None
    batch_id: str | None = None
    labels: dict[str, str] = {}
    links: Links


class BatchView(Answer):
    id: str
    counts: dict[str, int]
    jobs: list[JobView]


class Event(Answer):
    """One entry of a job's history; ``data`` on the wire also holds the type's own fields."""

    type: str
    job_id: str
    seq: int
    at: Time
