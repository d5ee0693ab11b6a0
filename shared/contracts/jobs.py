"""Jobs over HTTP: the request, the job itself, its events, batches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, HttpUrl, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Isolation, Problem, Reference, Request, Time

WaitingReason = TypeAliasType(
    "WaitingReason",
    Annotated[
        Literal["in_queue", "no_worker", "tenant_limit", "retry_at"],
        Field(description="Why a queued job does not run yet"),
    ],
)


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
    """State of a job; the last four are terminal."""

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
    """What a job may use; null is the installation's default."""

    turns: Annotated[int, Field(ge=1, le=100)] | None = None
    """Maximum number of turns, each a model's proposal and its check"""
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Maximum run time in seconds"""
    tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Maximum input and output tokens of models together"""


class Webhook(Request):
    """Where to report that the job has ended."""

    url: HttpUrl
    """URL that receives a POST request, http or https"""
    events: Annotated[list[Literal["job.finished"]], Field(min_length=1)] = ["job.finished"]
    """Events to report"""


LabelText = Annotated[str, Field(max_length=200)]
Labels = Annotated[dict[Annotated[str, Field(min_length=1, max_length=64)], LabelText], Field(max_length=32)]


class JobRequest(Request):
    """A job to submit."""

    conversation_id: Annotated[str, Reference("conversation"), Field(min_length=1, max_length=64)] | None = None
    """Conversation to continue; jobs of one conversation run one after the other"""
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    """Priority among the tenant's jobs; 9 runs first"""
    budget: BudgetInput = Field(default_factory=BudgetInput)
    """What the job may use"""
    webhook: Webhook | None = None
    """Where to report the end of the job"""
    labels: Labels = {}
    """Names and values to find the job by"""
    reproducible: bool = False
    """Whether every model is called with temperature 0 and a fixed seed"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model to call instead of the role's chain, without failover: `PROVIDER/MODEL` or a part of a model's id"""
    kind: str
    """Kind of the job; `input` depends on it"""
    input: BaseModel
    """Input of the job"""


class ReplayInput(Request):
    """What a replay changes."""

    input: dict[str, JsonValue] = {}
    """Fields that replace those of the old input"""
    model: Annotated[str, Field(max_length=200)] | None = None
    """Model to call instead of the role's chain: `PROVIDER/MODEL` or a part of a model's id"""
    budget: BudgetInput | None = None
    """What the new job may use; null keeps the old budget"""
    prompt_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """Version of the prompt to use; null uses the current one"""
    reproducible: bool | None = None
    """Whether to call models with temperature 0 and a fixed seed; null keeps the old choice"""


class BulkOutcome(Answer):
    """Outcome of one job of a bulk request."""

    id: str
    """Id of the job in the request"""
    ok: bool
    """Whether the job was cancelled or replayed"""
    state: JobState | None = None
    """State of the job after the request; null if it was not found"""
    job_id: str | None = None
    """Id of the new job of a replay; null otherwise"""
    code: str | None = None
    """Error code; null on success"""
    detail: str | None = None
    """Why nothing was done; null on success"""


class BulkOutcomes(Answer):
    """Outcomes of a bulk request."""

    items: list[BulkOutcome]
    """One outcome for each job: in the order of the ids, or newest first for a filter"""
    batch_id: str | None = None
    """Id of the batch of new jobs; null if a replay made none, and for cancellations"""
    more: bool = False
    """Whether the filter matches further jobs"""


class Waiting(Answer):
    """Why a queued job does not run yet."""

    reason: WaitingReason
    """Reason for waiting"""
    position: int | None = None
    """Position in the tenant's queue, 1 is next; null if it is too far back to count"""
    detail: str | None = None
    """The reason in words; null if there is nothing to add"""
    retry_at: Time | None = None
    """Time of the next attempt; null for other reasons than `retry_at`"""


class Usage(Answer):
    """What a job used of models."""

    llm_calls: int = 0
    """Number of requests that reached a provider"""
    input_tokens: int = 0
    """Tokens sent to models"""
    output_tokens: int = 0
    """Tokens that models returned"""
    cost_usd: float | None = None
    """Cost in US dollars; null if a part has no known price"""


class Links(Answer):
    """URL paths of a job."""

    self: str
    """URL path of the job"""
    events: str
    """URL path of the job's events"""
    cancel: str
    """URL path that cancels the job with a POST"""


class ServedBy(Answer):
    """The model that answered."""

    provider: str
    """Provider that answered"""
    model: str
    """Model that answered"""


class JobView(Answer):
    """A job; lists omit `input` and `result`."""

    id: str
    """Job id"""
    kind: JobKind
    """Kind of the job"""
    state: JobState
    """State of the job"""
    waiting: Waiting | None = None
    """Why the job does not run yet; null unless it is queued"""
    attempt: int
    """Number of runs so far; greater than 1 after a worker died"""
    created_at: Time
    """Time of the submit"""
    started_at: Time | None = None
    """Time at which the latest run began; null before"""
    finished_at: Time | None = None
    """Time at which the job ended; null before"""
    input: dict[str, JsonValue] | None = None
    """Input of the job, by its kind; null in lists"""
    result: dict[str, JsonValue] | None = None
    """Result of the job, by its kind; null unless it succeeded, and in lists"""
    error: Problem | None = None
    """Why the job failed; null otherwise"""
    warnings: list[str] = []
    """Problems that did not stop the job"""
    usage: Usage = Usage()
    """What the job used of models"""
    conversation_id: str | None = None
    """Conversation that the job belongs to; null if none"""
    replayed_from: str | None = None
    """Id of the job that this one replays; null if none"""
    batch_id: str | None = None
    """Id of the batch that the job was submitted with; null if none"""
    labels: dict[str, str] = {}
    """Names and values that the client set"""
    links: Links
    """URL paths of the job"""
    priority: int = 5
    """Priority among the tenant's jobs; 9 runs first"""
    actor: str | None = None
    """Id of the API key that submitted the job"""
    actor_name: str | None = None
    """Name of that API key; null in lists"""
    budget: dict[str, JsonValue] = {}
    """Budget that the client set: `turns`, `seconds`, `tokens`"""
    overrides: dict[str, JsonValue] = {}
    """Settings that differ from the installation's: `reproducible`, `model`, and a replay's prompt version"""
    worker_id: str | None = None
    """Id of the worker that runs the job or ran it last; null before the first run"""
    crashes: int = 0
    """Number of times that the job's worker died"""
    request_id: str | None = None
    """Id of the request that submitted the job, as in the server's logs"""
    title: str | None = None
    """In lists: first line of what the job is about; null otherwise"""
    turns: int | None = None
    """In lists: number of turns that called a model; null otherwise"""
    served: ServedBy | None = None
    """In lists: the model that answered last; null otherwise"""
    failed_over: bool | None = None
    """In lists: whether another model than the chain's first answered; null otherwise"""
    verdict: str | None = None
    """In lists: outcome that the result states, such as `ok`, `found` or `block_failed`; null otherwise"""
    isolation: Isolation | None = None
    """Isolation of the latest run's sandbox; null in lists, and if the job runs no code"""


class BatchView(Answer):
    """A batch with its jobs."""

    id: str
    """Batch id"""
    counts: dict[str, int]
    """Number of jobs in each state, by state"""
    jobs: list[JobView]
    """Jobs in the order of the submit, without input and result"""


class Event(Answer):
    """One entry of a job's history; its other members depend on the type, see `JobEvent`."""

    model_config = ConfigDict(extra="allow")

    type: str
    """Type of the event"""
    job_id: str
    """Id of the job"""
    seq: int
    """Number of the event within the job; the `id` in a stream"""
    at: Time
    """Time of the event"""


class EventPage(Answer):
    """One page of a job's history, oldest first."""

    items: list[Event]
    """Events of this page"""
    state: JobState
    """State of the job"""
    next_after: int | None
    """Value of `after` for the next page; null if there are no further events yet"""


class JobPage(Answer):
    """One page of jobs."""

    items: list[JobView]
    """Jobs, newest first"""
    next_cursor: str | None = None
    """Value of `cursor` for the next page; null on the last page"""
    total: int | None = None
    """Number of jobs that match, counted up to 10,000; null unless requested"""
    looked_back_to: Time | None = None
    """Set if the page is short because the search stopped: older jobs were not checked, and `next_cursor` continues"""


class StateCount(Answer):
    """Number of jobs in one state."""

    state: JobState
    """State that is counted"""
    jobs: int
    """Number of jobs counted in this state"""
    more: bool
    """Whether further jobs are in this state: counting stopped at its limit"""


class JobCounts(Answer):
    """Number of jobs that match a filter, by state."""

    items: list[StateCount]
    """One count for each state"""
    looked_back_to: Time | None = None
    """Jobs submitted before this time were not counted; null if all were"""
    outcomes: dict[str, int] | None = None
    """Number of jobs by outcome, of the newest 2,000; null unless requested"""


class JobChanges(Answer):
    """Jobs that were submitted, started or ended since `after`, in their current state."""

    items: list[JobView]
    """Jobs, oldest change first"""
    next_after: int
    """Value of `after` for the next page"""
    reset: bool = False
    """Whether `after` is too old: read the list of jobs again"""
