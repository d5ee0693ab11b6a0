"""Jobs over HTTP: the request, the job itself, its events, batches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, HttpUrl, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from shared.contracts.common import Answer, Isolation, Problem, Reference, Request, Time


class _SchemaOfItsOwn:
    """A string with a named schema in the API description; which kinds there are is in ``shared.kinds``."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(ref="shared.contracts.jobs.JobKind:0")

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        reference = handler(schema)
        handler.resolve_ref_schema(reference)["title"] = "JobKind"
        return reference


JobKind: TypeAlias = Annotated[str, _SchemaOfItsOwn()]


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


class JobRequest(Request):
    conversation_id: Annotated[str, Reference("conversation"), Field(min_length=1, max_length=64)] | None = None
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    budget: BudgetInput = Field(default_factory=BudgetInput)
    webhook: Webhook | None = None
    labels: Labels = {}
    reproducible: bool = False  #: asks every model with temperature 0 and a fixed seed
    #: Asked instead of the chains' models, and nobody else is: PROVIDER/MODEL, or a part of a model's id.
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    kind: str  #: narrowed, as ``input`` is, in the model of each kind: ``shared.kinds``
    input: BaseModel


class ReplayInput(Request):
    """What a replay changes; ``input`` is merged into the old one field by field."""

    input: dict[str, JsonValue] = {}
    model: Annotated[str, Field(max_length=200)] | None = None
    budget: BudgetInput | None = None
    prompt_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    reproducible: bool | None = None


class BulkOutcome(Answer):
    """What came of one job; ``job_id`` is the new one of a replay, ``code`` and ``detail`` say why nothing was done."""

    id: str
    ok: bool
    state: JobState | None = None
    job_id: str | None = None
    code: str | None = None
    detail: str | None = None


class BulkOutcomes(Answer):
    """In the order of the ids, or newest first; ``more``: the filter fits further jobs."""

    items: list[BulkOutcome]
    batch_id: str | None = None  #: of the jobs that a replay made
    more: Annotated[bool, Field(description="Whether the filter fits further jobs")] = False


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


class ServedBy(Answer):
    provider: str
    model: str


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
    priority: int = 5
    actor: str | None = None  #: the id of the API key that submitted it
    actor_name: str | None = None  #: not in lists: the name of that key
    budget: dict[str, JsonValue] = {}
    overrides: dict[str, JsonValue] = {}  #: `reproducible`, `model`; of a replay: another version of the prompt
    worker_id: str | None = None
    crashes: int = 0  #: how often it took its worker down
    request_id: str | None = None  #: of the request that submitted it, as in the logs
    title: str | None = None  #: in lists: the first line of what it was about
    turns: int | None = None  #: in lists: how many turns asked a model
    served: ServedBy | None = None  #: in lists: the model that answered last
    failed_over: bool | None = None  #: in lists: another model answered than the first of the chain
    verdict: str | None = None  #: in lists: what the result calls itself
    isolation: Isolation | None = None  #: not in lists: where the code of its latest run ran; null: it runs none


class BatchView(Answer):
    id: str
    counts: dict[str, int]
    jobs: list[JobView]


class Event(Answer):
    """One entry of a job's history; the fields of its type stand beside these, see `JobEvent`."""

    model_config = ConfigDict(extra="allow")

    type: str
    job_id: str
    seq: int
    at: Time


class EventPage(Answer):
    """One page of a job's history, oldest first."""

    items: list[Event]
    state: JobState
    next_after: int | None = Field(description="The `after` of the next page; null when there is nothing more yet")


class JobPage(Answer):
    """One page of jobs; ``total`` when it was asked for, counted up to 10,000 (or among 10,000)."""

    items: list[JobView]
    next_cursor: str | None = None
    total: int | None = None
    looked_back_to: Time | None = Field(
        None, description="The page is not full, but no older job was looked at yet: `next_cursor` goes on from here"
    )


class StateCount(Answer):
    """How many jobs are in a state; ``more``: they were not all counted."""

    state: JobState
    jobs: int
    more: bool


class JobCounts(Answer):
    """The jobs of a filter by state."""

    items: list[StateCount]
    looked_back_to: Time | None = Field(None, description="Jobs submitted before this moment were not looked at")


class JobChanges(Answer):
    """Jobs that were submitted, begun or ended, as they are now, the oldest change first."""

    items: list[JobView]
    next_after: int = Field(description="The `after` of the next page")
    reset: Annotated[bool, Field(description="`after` is too long ago: read the list of jobs again")] = False
