"""Batches: many jobs accepted together, or none of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Request
from pydantic import Field, JsonValue, create_model

from services.gateway.database import Db, Unit
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Prepared
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.jobs import checks, views
from services.gateway.jobs.checks import is_large_kind
from services.gateway.jobs.submit import new_id, notify, row_of
from services.gateway.routing import narrowed, routes
from shared.contracts.common import Request as Strict
from shared.contracts.jobs import BatchView, JobRequest, JobState
from shared.errors import NotFound
from shared.jobs.record import queries, submission
from shared.kinds import KindSpec, request_type

router = routes("/v1/batches", "Batches")

_MAX_JOBS = 1000


class BatchInput(Strict):
    """Jobs to submit together: all are accepted, or none."""

    jobs: list[JobRequest]  # narrowed to the existing kinds in ``submit_router``
    """Jobs to submit, at most 1,000"""


def submit_router(kinds: Mapping[str, KindSpec[Any]]) -> APIRouter:
    """Return the router of submits, whose body holds jobs of the given kinds."""
    jobs: Any = Annotated[list[request_type(kinds.values())], Field(min_length=1, max_length=_MAX_JOBS)]  # type: ignore[misc]
    body = create_model("BatchInput", __base__=BatchInput, __doc__=BatchInput.__doc__, jobs=(jobs, ...))
    router = routes("/v1/batches", "Batches")
    submit = router.post("", summary="Submit many jobs", status_code=202, response_model=BatchView)
    submit(narrowed(submit_batch, body=body))
    return router


@EndpointRules(large=is_large_kind)
async def submit_batch(
    request: Request, body: BatchInput, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps
) -> Prepared:
    """Accept all jobs or none: an invalid one refuses the batch, and the error names it."""
    located: list[checks.Located] = [(("body", "jobs", index), submit) for index, submit in enumerate(body.jobs)]
    await checks.check(deps, db, caller, located)
    await deps.quotas.admit_jobs(db, caller.tenant, len(body.jobs))
    batch_id = new_id()
    sent = cast("dict[str, list[dict[str, dict[str, JsonValue]]]]", await request.json())["jobs"]
    rows = [
        row_of(request, caller, submit, given["input"], batch_id=batch_id)
        for submit, given in zip(body.jobs, sent, strict=True)
    ]
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row["id"])
    warned = {kind: await checks.warnings(deps, kind) for kind in kinds}
    for row in rows:
        row["warnings"] = [*warned[row["kind"]], *await checks.doubts(deps, row)]
    inserted = await db.execute(submission.submit_batch(batch_id, caller.tenant, rows))
    times = {row.id: row.created_at for row in inserted}
    notify(deps, unit, kinds)
    jobs = [views.accepted(row, times[row["id"]], _waiting(deps, row, warned), brief=True) for row in rows]
    view = {"id": batch_id, "counts": {JobState.QUEUED.value: len(rows)}, "jobs": jobs}
    return Prepared(view, 202, {"Location": f"/v1/batches/{batch_id}", "Retry-After": "1"})


@router.get("/{id}", summary="Get a batch", response_model=BatchView)
async def get_batch(id: Id, caller: CurrentCaller, db: Db, deps: Deps) -> Prepared:
    """Return the number of jobs in each state, and the jobs in their order, without inputs and results."""
    if (await db.execute(queries.batch(id, caller.tenant))).scalar_one_or_none() is None:
        raise NotFound(f"There is no batch {id}.")
    counts = {row.state: row.count for row in await db.execute(queries.batch_counts(id, caller.tenant))}
    rows = (await db.execute(queries.batch_jobs(id, caller.tenant, _MAX_JOBS))).mappings().all()
    served = {kind for worker in await deps.workforce.all() for kind in worker.kinds}
    queued = [row["id"] for row in rows if row["state"] == JobState.QUEUED]
    ahead: dict[str, int] = {}
    if queued:
        ahead = {row.id: row.ahead for row in await db.execute(queries.queue_positions(caller.tenant, queued))}

    def waiting(row: views.Row) -> views.View | None:
        if row["state"] != JobState.QUEUED:
            return None
        if row["kind"] not in served:
            return views.no_worker(deps.workforce.absence(row["kind"]))
        return views.in_queue(ahead.get(row["id"], queries.MAX_AHEAD))

    jobs = [views.summary(row, waiting(row)) for row in sorted(rows, key=lambda row: str(row["id"]))]
    return Prepared({"id": id, "counts": counts, "jobs": jobs}).tagged()


def _waiting(deps: Dependencies, row: dict[str, Any], warned: dict[str, list[str]]) -> views.View:
    if warned[row["kind"]]:
        return views.no_worker(deps.workforce.absence(row["kind"]))
    return {**views.in_queue(0), "position": None}
