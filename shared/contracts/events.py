"""What the events of a job say, by type. Readers take types and fields that they do not know: more may come."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Isolation, Time
from shared.contracts.described import Contract

OutputStream = TypeAliasType(
    "OutputStream", Annotated[Literal["stdout", "stderr"], Field(description="Output stream of a program")]
)


class _Event(Contract):
    """What every event has."""

    model_config = ConfigDict(extra="allow")

    job_id: str
    """Id of the job"""
    seq: Annotated[int, Field(ge=1, examples=[3])]
    """Number of the event within the job; the `id` in a stream"""
    at: Time
    """Time of the event"""


class JobQueuedEvent(_Event):
    """The job was accepted: always the first event."""

    type: Literal["job_queued"]
    """Type of the event"""


class JobStartedEvent(_Event):
    """A worker has begun to run the job; again after a worker was lost."""

    type: Literal["job_started"]
    """Type of the event"""
    attempt: Annotated[int, Field(ge=1, examples=[1])]
    """Number of the run, from 1; greater after a worker died"""
    isolation: Isolation | None = None
    """Isolation of the run's sandbox; null if the job runs no code"""


class TurnTakenEvent(_Event):
    """A model has proposed something, and it was executed."""

    type: Literal["turn_taken"]
    """Type of the event"""
    number: Annotated[int, Field(ge=0, examples=[1])]
    """Number of the turn"""
    proposal: JsonValue
    """What the model proposed: code, calls or a plan, by the kind"""
    outcome: JsonValue
    """Outcome of executing the proposal, by the kind"""


class ThinkingEvent(_Event):
    """What the job is about to do, in words for a person."""

    type: Literal["thinking"]
    """Type of the event"""
    message: Annotated[str, Field(examples=["reading the data"])]
    """The message, for a person"""


class OutputEvent(_Event):
    """Output of a program, in parts of at most 3,500 characters, at most 256,000 in all."""

    type: Literal["output"]
    """Type of the event"""
    stream: OutputStream
    """Stream that the program wrote to"""
    text: Annotated[str, Field(examples=["42\n"])]
    """What the program wrote, with control characters escaped"""


class ProgressEvent(_Event):
    """Progress of a long operation."""

    type: Literal["progress"]
    """Type of the event"""
    node: Annotated[str, Field(examples=["ingest"])]
    """Operation that progresses, such as `ingest`"""
    done: Annotated[int, Field(ge=0, examples=[200])]
    """Number of finished units"""
    total: Annotated[int | None, Field(examples=[1000])] = None
    """Number of all units; null if unknown"""


class BlockStartedEvent(_Event):
    """A block of a document has begun."""

    type: Literal["block_started"]
    """Type of the event"""
    block_id: Annotated[str, Field(examples=["block-3"])]
    """Id of the block, as in the result"""
    kind: Annotated[str, Field(examples=["chunk"])]
    """Kind of block, such as `chunk` or `instruction`"""


class BlockFinishedEvent(_Event):
    """A block of a document has ended."""

    type: Literal["block_finished"]
    """Type of the event"""
    block_id: Annotated[str, Field(examples=["block-3"])]
    """Id of the block, as in the result"""
    kind: Annotated[str, Field(examples=["chunk"])]
    """Kind of block, such as `chunk` or `instruction`"""
    status: Annotated[str, Field(examples=["ok"])]
    """How the block ended: `ok`, `fresh`, `stale`, `skipped` or `error`"""
    seconds: Annotated[float, Field(ge=0, examples=[0.4])]
    """Run time of the block in seconds"""
    lines: Annotated[list[int], Field(examples=[[12, 17]])]
    """First and last line of the block in the document, from 1"""
    message: str | None = None
    """First problem of the block; null if it has none"""


class ModelCallEvent(_Event):
    """One call of a model, without prompt and answer. `GET /v1/jobs/{id}/llm-calls` has the rest."""

    type: Literal["llm_call"]
    """Type of the event"""
    role: Annotated[str, Field(examples=["execution.transform"])]
    """Role that the model was called for, such as `execution.transform`"""
    turn: Annotated[int | None, Field(examples=[1])] = None
    """Turn of the job in which the call was made; null if unknown"""
    attempt: Annotated[int, Field(examples=[1])]
    """Number of the attempt within its request, from 1"""
    provider: Annotated[str, Field(examples=["groq"])]
    """Provider that was called"""
    model: Annotated[str, Field(examples=["openai/gpt-oss-120b"])]
    """Name of the model that was called"""
    reason: Annotated[str, Field(examples=["primary"])]
    """Why the attempt was made: `primary`, `retry`, `failover` or `hedge`"""
    outcome: Annotated[str, Field(examples=["ok"])]
    """`ok`, `skipped`, or the code of the fault"""
    http_status: Annotated[int | None, Field(examples=[200])] = None
    """HTTP status of the provider's response; null without a response"""
    detail: Annotated[str | None, Field(examples=["It did not begin to answer in time."])] = None
    """What went wrong, in words; null for an answer that was simply given"""
    input_tokens: Annotated[int | None, Field(examples=[812])] = None
    """Prompt tokens, as the provider counted them; null if unknown"""
    output_tokens: Annotated[int | None, Field(examples=[164])] = None
    """Answer tokens, as the provider counted them; null if unknown"""
    seconds: Annotated[float, Field(ge=0, examples=[1.2])]
    """Seconds from the request to the end of the answer"""
    source: Annotated[str, Field(examples=["live"])]
    """Where the answer came from: `live`, `replay` or `scripted`"""


class FailoverModel(Contract):
    """A model of a provider."""

    provider: Annotated[str, Field(examples=["groq"])]
    """Provider that serves the model"""
    model: Annotated[str, Field(examples=["openai/gpt-oss-120b"])]
    """Model name, as the provider spells it"""


class FailoverEvent(_Event):
    """A request was sent to the next model of the chain."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    type: Literal["failover"]
    """Type of the event"""
    role: Annotated[str, Field(examples=["execution.transform"])]
    """Role that the model was called for, such as `execution.transform`"""
    turn: Annotated[int | None, Field(examples=[1])] = None
    """Turn of the job in which the call was made; null if unknown"""
    from_: Annotated[FailoverModel, Field(alias="from")]
    """Model that did not answer"""
    to: FailoverModel
    """Model that was called instead"""
    cause: Annotated[str | None, Field(examples=["429"])] = None
    """Fault of the model that did not answer; null if unknown"""


class JobSucceededEvent(_Event):
    """The job has a result. The last event."""

    type: Literal["job_succeeded"]
    """Type of the event"""


class JobFailedEvent(_Event):
    """The job has an error. The last event."""

    type: Literal["job_failed"]
    """Type of the event"""
    code: Annotated[str | None, Field(examples=["budget_spent"])] = None
    """Code of the job's error; null if unknown"""


class JobCancelledEvent(_Event):
    """The job was cancelled. The last event."""

    type: Literal["job_cancelled"]
    """Type of the event"""
    code: Annotated[str | None, Field(examples=["job_cancelled"])] = None
    """Code of the job's error; null if unknown"""


class JobDeadEvent(_Event):
    """The job crashed its workers too often. The last event."""

    type: Literal["job_dead"]
    """Type of the event"""
    code: Annotated[str | None, Field(examples=["worker_crashed"])] = None
    """Code of the job's error; null if unknown"""


#: Every type that there is.
JobEvent: TypeAlias = Annotated[
    JobQueuedEvent | JobStartedEvent | TurnTakenEvent | ThinkingEvent | OutputEvent | ProgressEvent
    | BlockStartedEvent | BlockFinishedEvent | ModelCallEvent | FailoverEvent
    | JobSucceededEvent | JobFailedEvent | JobCancelledEvent | JobDeadEvent,
    Field(discriminator="type"),
]  # fmt: skip
