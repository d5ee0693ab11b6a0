"""What the events of a job say, by type. Readers take types and fields that they do not know: more may come."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from shared.contracts.common import Isolation, Time


class _Event(BaseModel):
    """What every event has."""

    model_config = ConfigDict(extra="allow")

    job_id: Annotated[str, Field(description="The job that it happened to")]
    seq: Annotated[int, Field(ge=1, description="Its number in the job; the `id:` in a stream", examples=[3])]
    at: Annotated[Time, Field(description="When it happened, RFC 3339 in UTC")]


class JobQueuedEvent(_Event):
    """The job was accepted: always the first event."""

    type: Literal["job_queued"]


class JobStartedEvent(_Event):
    """A worker has begun to run the job; again after a worker was lost."""

    type: Literal["job_started"]
    attempt: Annotated[int, Field(ge=1, description="Which run of the job it is, from 1", examples=[1])]
    isolation: Annotated[Isolation | None, Field(description="Where its code runs; null: it runs none")] = None


class TurnTakenEvent(_Event):
    """A model has proposed something, and it was executed."""

    type: Literal["turn_taken"]
    number: Annotated[int, Field(ge=0, description="Which turn of the job it was", examples=[1])]
    proposal: Annotated[JsonValue, Field(description="What the model proposed: code, calls or a plan, by the kind")]
    outcome: Annotated[JsonValue, Field(description="What came of it when it was executed, by the kind")]


class ThinkingEvent(_Event):
    """What the job is about to do, in words for a person."""

    type: Literal["thinking"]
    message: Annotated[str, Field(description="The words", examples=["reading the data"])]


class OutputEvent(_Event):
    """A program has printed something: pieces of 3,500 characters at most, 256,000 of a program."""

    type: Literal["output"]
    stream: Annotated[Literal["stdout", "stderr"], Field(description="Where it printed")]
    text: Annotated[str, Field(description="What it printed, control characters escaped", examples=["42\n"])]


class ProgressEvent(_Event):
    """How much of a long work is done."""

    type: Literal["progress"]
    node: Annotated[str, Field(description="Of what", examples=["ingest"])]
    done: Annotated[int, Field(ge=0, description="How many are done", examples=[200])]
    total: Annotated[int | None, Field(description="Of how many, where that is known", examples=[1000])] = None


class BlockStartedEvent(_Event):
    """A block of a document has begun."""

    type: Literal["block_started"]
    block_id: Annotated[str, Field(description="Its id in the result", examples=["block-3"])]
    kind: Annotated[str, Field(description="What it is: code, a prompt, a parameter ...", examples=["code"])]


class BlockFinishedEvent(_Event):
    """A block of a document has ended."""

    type: Literal["block_finished"]
    block_id: Annotated[str, Field(description="Its id in the result", examples=["block-3"])]
    kind: Annotated[str, Field(description="What it is: code, a prompt, a parameter ...", examples=["code"])]
    status: Annotated[str, Field(description="`ok`, `fresh` (as it was), `skipped` or `error`", examples=["ok"])]
    seconds: Annotated[float, Field(ge=0, description="How long it took", examples=[0.4])]
    lines: Annotated[list[int], Field(description="Its first and its last line in the document", examples=[[12, 17]])]
    message: Annotated[str | None, Field(description="Its first problem, where it has one")] = None


class ModelCallEvent(_Event):
    """One call of a model; prompts and answers are not in it. `GET /v1/jobs/{id}/llm-calls` tells the rest."""

    type: Literal["llm_call"]
    role: Annotated[str, Field(description="What the model was asked for", examples=["transform.code"])]
    turn: Annotated[int | None, Field(description="In which turn", examples=[1])] = None
    attempt: Annotated[int, Field(description="Which try of one request it was", examples=[1])]
    provider: Annotated[str, Field(description="Who was asked", examples=["groq"])]
    model: Annotated[str, Field(description="Which model", examples=["openai/gpt-oss-120b"])]
    reason: Annotated[str, Field(description="`primary`, `retry`, `failover` or `hedge`", examples=["primary"])]
    outcome: Annotated[str, Field(description="`ok`, or what went wrong", examples=["ok"])]
    http_status: Annotated[int | None, Field(description="Of the answer; null without one", examples=[200])] = None
    input_tokens: Annotated[int | None, Field(description="As the provider counted them", examples=[812])] = None
    output_tokens: Annotated[int | None, Field(description="As the provider counted them", examples=[164])] = None
    seconds: Annotated[float, Field(ge=0, description="From the request to the end of the answer", examples=[1.2])]
    source: Annotated[str, Field(description="`live`, `replay` or `scripted`", examples=["live"])]


class FailoverModel(BaseModel):
    """A model of a provider."""

    provider: Annotated[str, Field(description="Who serves it", examples=["groq"])]
    model: Annotated[str, Field(description="Its name there", examples=["openai/gpt-oss-120b"])]


class FailoverEvent(_Event):
    """A request went on to the next model of the chain."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    type: Literal["failover"]
    role: Annotated[str, Field(description="What the model was asked for", examples=["transform.code"])]
    turn: Annotated[int | None, Field(description="In which turn", examples=[1])] = None
    from_: Annotated[FailoverModel, Field(alias="from", description="The model that did not answer")]
    to: Annotated[FailoverModel, Field(description="The model that was asked instead")]
    cause: Annotated[str | None, Field(description="Why", examples=["429"])] = None


class JobSucceededEvent(_Event):
    """The job has a result. The last event."""

    type: Literal["job_succeeded"]


class JobFailedEvent(_Event):
    """The job has an error. The last event."""

    type: Literal["job_failed"]
    code: Annotated[str | None, Field(description="The code of its error", examples=["budget_spent"])] = None


class JobCancelledEvent(_Event):
    """The job was cancelled. The last event."""

    type: Literal["job_cancelled"]
    code: Annotated[str | None, Field(description="The code of its error", examples=["cancelled"])] = None


class JobDeadEvent(_Event):
    """The job took its workers down too often. The last event."""

    type: Literal["job_dead"]
    code: Annotated[str | None, Field(description="The code of its error", examples=["worker_crashed"])] = None


#: Every type that there is.
JobEvent: TypeAlias = Annotated[
    JobQueuedEvent | JobStartedEvent | TurnTakenEvent | ThinkingEvent | OutputEvent | ProgressEvent
    | BlockStartedEvent | BlockFinishedEvent | ModelCallEvent | FailoverEvent
    | JobSucceededEvent | JobFailedEvent | JobCancelledEvent | JobDeadEvent,
    Field(discriminator="type"),
]  # fmt: skip
