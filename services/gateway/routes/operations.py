"""Operations: waiting work, workers, and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Annotated

from fastapi import Query, Request
from pydantic import AwareDatetime
from sqlalchemy import RowMapping

from services.gateway.database import Db, RowTenant
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from services.gateway.settings import effective
from shared.contracts.models import CallSource, ModelName
from shared.contracts.operations import (
    Bucket,
    Grouping,
    QueueHistory,
    QueuePast,
    Queues,
    QueueState,
    QueueTenant,
    Served,
    ServedRow,
    SettingStates,
    Stats,
    StatsRow,
    WorkerInfo,
    Workers,
)
from shared.errors import InvalidRequest, MissingScope
from shared.jobs.upkeep import statistics
from shared.kinds import KINDS

router = routes("/v1", "Operations")

_MAX_BUCKETS = 1000
_BUCKETS: Mapping[Bucket, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "all": timedelta(days=1),
}
_MINUTES = 60  #: of the past of the queues
_TENANTS = 5  #: of each queue

Until = Annotated[AwareDatetime | None, Query(description="End of the period; by default now")]
Since = Annotated[AwareDatetime | None, Query(alias="from", description="By default a week ago")]
OfSource = Annotated[CallSource | None, Query(description="Only calls of this source, and jobs that have one")]


def _always(request: Request) -> bool:
    return True


def _by_tenant(request: Request) -> bool:
    return request.query_params.get("by") == "tenant"


@router.get("/queues", summary="See what waits and what runs")
@EndpointRules(all_tenants=_always)
async def list_queues(db: Db, tenant: RowTenant, deps: Deps) -> Queues:
    """Per kind, also what came and went in the last hour. A key with `admin` sees the jobs of every tenant."""
    rows = {row["kind"]: row for row in (await db.execute(statistics.queues(tenant))).mappings()}
    busiest = (await db.execute(statistics.queue_tenants(tenant, _TENANTS))).mappings().all()
    workers = await deps.workforce.all()

    def state(kind: str) -> QueueState:
        serving = sum(kind in worker.kinds for worker in workers)
        tenants = [QueueTenant.model_validate(dict(row)) for row in busiest if row["kind"] == kind]
        return QueueState.model_validate({**rows.get(kind, {}), "kind": kind, "workers": serving, "tenants": tenants})

    return Queues(items=[state(kind) for kind in KINDS])


@router.get("/queues/history", summary="See the queues of the last hour, by minute")
@EndpointRules(all_tenants=_always)
async def list_queue_history(db: Db, tenant: RowTenant) -> QueueHistory:
    """Return how many jobs waited, arrived and ended in each minute; with the scope `admin`, of every tenant."""
    since = datetime.now(UTC) - timedelta(minutes=_MINUTES)
    rows = (await db.execute(statistics.queue_history(tenant, since))).mappings().all()
    return QueueHistory(
        since=since, items=[_past(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    )


def _past(kind: str, rows: Sequence[RowMapping]) -> QueuePast:
    by_minute = {row["minute"]: row for row in rows}

    def each(name: str) -> list[int]:
        return [by_minute[minute][name] or 0 if minute in by_minute else 0 for minute in range(-1, _MINUTES)]

    came, left = each("submitted"), each("left_queue")
    waiting = accumulate(more - less for more, less in zip(came, left, strict=True))
    return QueuePast(
        kind=kind, queued=[*waiting][1:], submitted=came[1:], ended=each("ended")[1:], failed=each("failed")[1:]
    )


@router.get("/workers", summary="See the workers")
@EndpointRules(scope="admin")
async def list_workers(caller: CurrentCaller, db: Db) -> Workers:
    """List the workers that have reported within the last ten minutes; `alive` within six seconds."""
    rows = (await db.execute(statistics.recent_workers())).mappings().all()
    return Workers(items=[WorkerInfo.model_validate(dict(row)) for row in rows])


@router.get("/settings", summary="See the gateway's settings")
@EndpointRules(scope="admin")
async def list_settings(caller: CurrentCaller, deps: Deps) -> SettingStates:
    """List each setting with its source. The values of addresses, keys and folders are hidden. Workers have their
    own.
    """
    return SettingStates(items=list(effective(deps.settings)))


@router.get("/stats", summary="Add up jobs and model calls")
@EndpointRules(all_tenants=_by_tenant)
async def get_stats(
    caller: CurrentCaller,
    db: Db,
    tenant: RowTenant,
    by: Annotated[Grouping, Query(description="What a row is about")] = "kind",
    bucket: Annotated[Bucket, Query(description="`all` is one row a group for the whole time")] = "day",
    from_: Since = None,
    to: Until = None,
    source: OfSource = None,
) -> Stats:
    """Return a row per bucket and group. `by=tenant` needs `admin` and covers all tenants; the rest is the caller's
    own.

    Groups of jobs (`kind`, `state`, `outcome`, `key`, `tenant`) have waits and runs, groups of calls (`model`,
    `provider`, `role`, `prompt`, `source`) have failovers. An `outcome` is the error code of a failed job, what the
    result of a succeeded one says of itself (read of the newest 2,000), else the state. Costs that are unknown are
    counted in `unpriced` and not in `cost_usd`.
    """
    if by == "tenant" and "admin" not in caller.scopes:
        raise MissingScope("Numbers of all tenants need a key with the scope admin.")
    since, until = _time(from_, to, _BUCKETS[bucket])
    statement = statistics.sums(tenant, by, bucket, since, until, source)
    rows = (await db.execute(statement)).mappings().all()
    items = [StatsRow.model_validate(dict(row)) for row in rows]
    return Stats(by=by, bucket=bucket, since=since, until=until, items=items, source=source)


@router.get("/stats/served", summary="See which models answered for which")
async def list_served(
    caller: CurrentCaller, db: Db, from_: Since = None, to: Until = None, source: OfSource = None
) -> Served:
    """Return a row per requested model and serving model, with the number of requests."""
    since, until = _time(from_, to, _BUCKETS["day"])
    rows = (await db.execute(statistics.served(caller.tenant, since, until, source))).mappings().all()
    items = [
        ServedRow(
            requested=ModelName(provider=row["requested_provider"], model=row["requested_model"]),
            served=None
            if row["served_provider"] is None
            else ModelName(provider=row["served_provider"], model=row["served_model"]),
            requests=row["requests"],
            jobs=row["jobs"],
            causes=row["causes"] or [],
        )
        for row in rows
    ]
    return Served(since=since, until=until, items=items)


def _time(since: datetime | None, until: datetime | None, bucket: timedelta) -> tuple[datetime, datetime]:
    """Return the interval, by default the last week. Raises: InvalidRequest for one with too many buckets."""
    until = until or datetime.now(UTC)
    since = since or until - timedelta(days=7)
    if since >= until or (until - since) / bucket > _MAX_BUCKETS:
        message = f"from must be before to, with {_MAX_BUCKETS} buckets between them at most"
        raise InvalidRequest(f"query.from: {message}", [(["query", "from"], message)])
    return since, until
