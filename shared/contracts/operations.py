"""Queues, workers and sums: what an operator looks at."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from shared.contracts.common import Answer, Time
from shared.contracts.models import ModelName

Grouping = Literal["kind", "state", "key", "tenant", "model", "provider", "role", "prompt", "source"]
Bucket = Literal["minute", "hour", "day", "all"]
Source = Literal["live", "replay", "scripted"]


class QueueState(Answer):
    kind: str
    queued: int = 0
    running: int = 0
    oldest_seconds: float | None = None  #: how long the oldest queued job has waited
    submitted_last_hour: int = 0
    ended_last_hour: int = 0
    failed_last_hour: int = 0
    workers: int = 0


class Queues(Answer):
    items: list[QueueState]


class QueuePast(Answer):
    """A kind's last hour, a number for each minute, the oldest first."""

    kind: str
    queued: list[int]  #: that waited at the end of the minute
    submitted: list[int]  #: in the minute
    ended: list[int]  #: in the minute
    failed: list[int]  #: of those that ended


class QueueHistory(Answer):
    since: Time  #: the start of the first minute; the last one still runs
    items: list[QueuePast]


class WorkerInfo(Answer):
    id: str
    service: str
    kinds: list[str]
    concurrency: int
    version: str
    facts: dict[str, JsonValue]
    started_at: Time
    seen_at: Time
    alive: bool
    running: int = 0


class Workers(Answer):
    items: list[WorkerInfo]


class StatsRow(Answer):
    """One group in one bucket of time; what does not apply to the grouping is null."""

    at: Time
    group: str
    jobs: int
    succeeded: int | None = None
    failed: int | None = None
    wait_p50: float | None = None  #: seconds
    wait_p95: float | None = None
    run_p50: float | None = None
    run_p95: float | None = None
    turns_p50: float | None = None  #: how many turns jobs took that succeeded and asked models
    turns_mean: float | None = None  #: of the same jobs
    turns_jobs: int = 0  #: how many jobs those are: begun and ended within the time
    calls: int = 0
    errors: int = 0  #: calls that reached a provider and brought no answer
    failovers: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None  #: of what has a price; null when nothing has
    unpriced: int = 0  #: answers without a known price


class Stats(Answer):
    by: Grouping
    bucket: Bucket
    since: Time
    until: Time
    items: list[StatsRow]
    source: Source | None = None  #: of the calls that count; null: of any


class ServedRow(Answer):
    """Requests that began with the same model and were answered by the same one."""

    requested: ModelName  #: asked first
    served: ModelName | None  #: that answered; null where none did
    requests: int  #: each with all its attempts
    jobs: int  #: that these requests belong to
    causes: list[str]  #: why the first one did not answer: fault codes, `skipped`


class Served(Answer):
    since: Time
    until: Time
    items: list[ServedRow]


class SettingState(Answer):
    name: str  #: the environment variable
    value: str | int | float | bool | None = None  #: null where none is set, and where it is not told
    told: bool = True  #: whether the value is told; addresses, keys and folders are not
    source: Literal["environment", "default"]
    description: str


class SettingStates(Answer):
    items: list[SettingState]


class DoctorCheck(Answer):
    name: str  #: `postgres`, `schema`, `clock`, `worker KIND`, `provider NAME` ...
    ok: bool  #: whether all is well
    finding: str  #: what was seen
    remedy: str | None = None  #: what to do; null where all is well
    grave: bool = True  #: an installation without it is broken, not merely smaller


class Doctor(Answer):
    version: str  #: of the gateway
    python: str  #: its version, of the gateway
    started_at: Time  #: this gateway process
    items: list[DoctorCheck]
