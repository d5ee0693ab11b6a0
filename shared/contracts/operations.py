"""Queues, workers and statistics for operators."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Time
from shared.contracts.models import CallSource, ModelName

Grouping = TypeAliasType(
    "Grouping",
    Annotated[
        Literal["kind", "state", "outcome", "key", "tenant", "model", "provider", "role", "prompt", "source"],
        Field(description="What statistics are grouped by"),
    ],
)
Bucket = TypeAliasType(
    "Bucket",
    Annotated[Literal["minute", "hour", "day", "all"], Field(description="Length of time of a row of statistics")],
)


SettingSource = TypeAliasType(
    "SettingSource",
    Annotated[Literal["environment", "default"], Field(description="Where the value of a setting comes from")],
)


class QueueTenant(Answer):
    """What one tenant has in a queue."""

    tenant: str
    """Tenant id"""
    queued: int
    """Number of its queued jobs"""
    running: int
    """Number of its running jobs"""


class QueueState(Answer):
    """Queue and workers of one job kind."""

    kind: str
    """Job kind"""
    queued: int = 0
    """Number of queued jobs"""
    running: int = 0
    """Number of running jobs"""
    oldest_seconds: float | None = None
    """Seconds that the oldest queued job has waited; null if none is queued"""
    submitted_last_hour: int = 0
    """Number of jobs submitted within the last hour"""
    ended_last_hour: int = 0
    """Number of jobs that ended within the last hour"""
    failed_last_hour: int = 0
    """Number of jobs that failed within the last hour"""
    workers: int = 0
    """Number of live workers that serve the kind"""
    tenants: list[QueueTenant] = []
    """The five tenants with the most queued and running jobs, most first; only the own one without `admin`"""


class Queues(Answer):
    """Queues of all job kinds."""

    items: list[QueueState]
    """One entry for each kind"""


class QueuePast(Answer):
    """The last hour of one job kind, one number for each minute, oldest first."""

    kind: str
    """Job kind"""
    queued: list[int]
    """Jobs queued at the end of each minute"""
    submitted: list[int]
    """Jobs submitted in each minute"""
    ended: list[int]
    """Jobs that ended in each minute"""
    failed: list[int]
    """Jobs that failed in each minute"""


class QueueHistory(Answer):
    """The last hour of all queues."""

    since: Time
    """Start of the first minute; the last minute is the current one"""
    items: list[QueuePast]
    """The last hour of each kind"""


class WorkerInfo(Answer):
    """A worker process."""

    id: str
    """Worker id"""
    service: str
    """Service that the worker belongs to, such as `execution`"""
    kinds: list[str]
    """Job kinds that the worker serves"""
    concurrency: int
    """Number of jobs that the worker runs at once"""
    version: str
    """Version of the worker"""
    facts: dict[str, JsonValue]
    """What the worker reports of itself, by name, such as its languages and isolation"""
    started_at: Time
    """Time at which the worker started"""
    seen_at: Time
    """Time of the worker's latest report"""
    alive: bool
    """Whether the worker reported within the last six seconds"""
    running: int = 0
    """Number of jobs that the worker runs now"""


class Workers(Answer):
    """Worker processes."""

    items: list[WorkerInfo]
    """One entry for each worker"""


class StatsRow(Answer):
    """One group in one bucket of time; null where a number does not apply to the grouping."""

    at: Time
    """Start of the bucket"""
    group: str
    """Value that the row is grouped by"""
    jobs: int
    """Number of jobs in this row"""
    succeeded: int | None = None
    """Number of jobs that succeeded"""
    failed: int | None = None
    """Number of jobs that failed"""
    wait_p50: float | None = None
    """Median seconds from submit to start of a job; null for groupings of calls"""
    wait_p95: float | None = None
    """95th percentile of the seconds from submit to start of a job; null for groupings of calls"""
    run_p50: float | None = None
    """Median seconds that a job ran, or for groupings of calls that a call took; null if none ended"""
    run_p95: float | None = None
    """95th percentile of the seconds that a job ran or a call took; null if none ended"""
    turns_p50: float | None = None
    """Median number of turns of the succeeded jobs that called models; null if there are none"""
    turns_mean: float | None = None
    """Mean number of turns of the succeeded jobs that called models; null if there are none"""
    turns_jobs: int = 0
    """Number of jobs behind `turns_p50` and `turns_mean`: they began and ended within the period"""
    calls: int = 0
    """Number of model calls that reached a provider"""
    errors: int = 0
    """Number of calls that reached a provider and brought no answer"""
    failovers: int | None = None
    """Number of answers after a failover; null for groupings of jobs"""
    input_tokens: int = 0
    """Tokens sent to models"""
    output_tokens: int = 0
    """Tokens that models returned"""
    cost_usd: float | None = None
    """Cost in US dollars of the calls with a known price; null if none has one"""
    unpriced: int = 0
    """Number of answers without a known price"""


class Stats(Answer):
    """Statistics of jobs and model calls."""

    by: Grouping
    """What the rows are grouped by"""
    bucket: Bucket
    """Length of time of a row"""
    since: Time
    """Start of the period"""
    until: Time
    """End of the period"""
    items: list[StatsRow]
    """Rows, oldest first"""
    source: CallSource | None = None
    """Source of the calls that are counted; null counts all"""


class ServedRow(Answer):
    """Requests with the same first model and the same answering model."""

    requested: ModelName
    """Model that was called first"""
    served: ModelName | None
    """Model that answered; null if none did"""
    requests: int
    """Number of requests, each with all its attempts"""
    jobs: int
    """Number of jobs that the requests belong to"""
    causes: list[str]
    """Why the first model did not answer: fault codes and `skipped`"""


class Served(Answer):
    """Which models answered instead of the one called first."""

    since: Time
    """Start of the period"""
    until: Time
    """End of the period"""
    items: list[ServedRow]
    """One entry for each pair of first and answering model"""


class SettingState(Answer):
    """A setting of the gateway."""

    name: str
    """Environment variable that sets it"""
    value: str | int | float | bool | None = None
    """Value in effect; null if there is none, and if it is not shown"""
    told: bool = True
    """Whether the value is shown; addresses, keys and folders are not"""
    source: SettingSource
    """Whether the environment sets the value or the default applies"""
    description: str
    """What the setting does"""


class SettingStates(Answer):
    """Settings of the gateway."""

    items: list[SettingState]
    """One entry for each setting"""


class DoctorCheck(Answer):
    """One check of the installation."""

    name: str
    """What is checked, such as `postgres`, `schema`, `clock`, `worker KIND` or `provider NAME`"""
    ok: bool
    """Whether the check passed"""
    finding: str
    """What the check found"""
    remedy: str | None = None
    """What to do; null if the check passed"""
    grave: bool = True
    """Whether a failure breaks the installation; otherwise it only limits it"""


class Doctor(Answer):
    """Checks of the installation."""

    version: str
    """Version of the gateway"""
    python: str
    """Python version of the gateway"""
    started_at: Time
    """Time at which this gateway process started"""
    items: list[DoctorCheck]
    """Checks with their findings"""
