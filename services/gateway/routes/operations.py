"""What an operator looks at: work that waits, who does it, and what it came to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query
from pydantic import AwareDatetime

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from services.gateway.settings import effective
from shared.contracts.operations import (
    Grouping,
    Queues,
    QueueState,
    SettingStates,
    Stats,
    StatsRow,
    WorkerInfo,
    Workers,
)
from shared.errors import InvalidRequest, MissingScope
from shared.jobs import statistics
from shared.kinds import KINDS

router = routes("/v1", "Operations")

_MOST_BUCKETS = 1000
_BUCKETS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


@router.get("/queues", summary="See what waits and what runs")
async def list_queues(caller: CurrentCaller, db: Db, deps: Deps) -> Queues:
    """Per kind, also what came and went in the last hour. A key with `admin` sees the jobs of every tenant."""
    tenant = None if "admin" in caller.scopes else caller.tenant
    rows = {row["kind"]: row for row in (await db.execute(statistics.queues(tenant))).mappings()}
    workers = await deps.workforce.all()
    return Queues(
        items=[
            QueueState.model_validate(
                {**rows.get(kind, {}), "kind": kind, "workers": sum(kind in worker.kinds for worker in workers)}
            )
            for kind in KINDS
        ]
    )


@router.get("/workers", summary="See the workers")
@EndpointRules(scope="admin")
async def list_workers(caller: CurrentCaller, db: Db) -> Workers:
    """Those that have reported within the last ten minutes; `alive` within six seconds."""
    rows = (await db.execute(statistics.recent_workers())).mappings().all()
    return Workers(items=[WorkerInfo.model_validate(dict(row)) for row in rows])


@router.get("/settings", summary="See the gateway's settings")
@EndpointRules(scope="admin")
async def list_settings(caller: CurrentCaller, deps: Deps) -> SettingStates:
    """Each with where it comes from. The values of addresses, keys and folders are not told. A worker has its own."""
    return SettingStates(items=list(effective(deps.settings)))


@router.get("/stats", summary="Add up jobs and model calls")
async def get_stats(
    caller: CurrentCaller,
    db: Db,
    by: Annotated[Grouping, Query(description="What a row is about")] = "kind",
    bucket: Literal["hour", "day"] = "day",
    from_: Annotated[AwareDatetime | None, Query(alias="from", description="By default a week ago")] = None,
    to: AwareDatetime | None = None,
) -> Stats:
    """A row per bucket and group. `tenant` needs `admin`, and then covers all of them; the rest is the caller's own.

    Groups of jobs (`kind`, `state`, `key`, `tenant`) have waits and runs, groups of calls (`model`, `provider`, `role`,
    `prompt`, `source`) have failovers. Costs that are unknown are counted in `unpriced` and not in `cost_usd`.
    """
    if by == "tenant" and "admin" not in caller.scopes:
        raise MissingScope("Numbers of all tenants need a key with the scope admin.")
    until = to or datetime.now(UTC)
    since = from_ or until - timedelta(days=7)
    if since >= until or (until - since) / _BUCKETS[bucket] > _MOST_BUCKETS:
        message = f"from must be before to, with {_MOST_BUCKETS} buckets between them at most"
        raise InvalidRequest(f"query.from: {message}", [(["query", "from"], message)])
    tenant = None if by == "tenant" else caller.tenant
    statement = statistics.sums(tenant, by, bucket, since, until)
    rows = (await db.execute(statement)).mappings().all()
    items = [StatsRow.model_validate(dict(row)) for row in rows]
    return Stats(by=by, bucket=bucket, since=since, until=until, items=items)
