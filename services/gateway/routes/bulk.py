"""Many jobs at once: cancelled or run again, with the outcome of each."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from fastapi import Request
from pydantic import Field, model_validator
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db, Unit
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import Caller, CurrentCaller
from services.gateway.http.responses import JsonText
from services.gateway.http.rules import EndpointRules
from services.gateway.jobs import checks, views
from services.gateway.jobs.replay import replayed
from services.gateway.jobs.submit import Row, new_id, notify
from services.gateway.notifications import notify_watchers
from services.gateway.routes.job_list import JobWhere, end_of_look
from services.gateway.routing import routes
from services.gateway.streams.waits import find
from shared.contracts.common import Request as Strict
from shared.contracts.jobs import BulkOutcome, BulkOutcomes, JobState, ReplayInput
from shared.errors import AssayError, JobFinished, NotFound, TooLarge
from shared.jobs.record import listing, queries, statements, submission
from shared.jobs.record.listing import Place

router = routes("/v1/jobs", "Jobs")

_MOST = 1000
_LOOK = 10_000  #: jobs that one statement goes through
_ALIVE = [JobState.QUEUED, JobState.RUNNING]
JobId = Annotated[str, Field(min_length=1, max_length=64)]


class BulkInput(Strict):
    """Which jobs: by id, or all that match a filter."""

    ids: Annotated[list[JobId], Field(min_length=1, max_length=_MOST)] | None = None
    """Ids of the jobs; give this or `filter`"""
    filter: JobWhere | None = None
    """Filter that the jobs match, as in the list of jobs; give this or `ids`"""

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give ids or filter, one of them")
        if self.filter is not None and not self.filter.model_fields_set:
            raise ValueError("an empty filter fits every job: say which")
        return self


class BulkReplayInput(BulkInput):
    """Which jobs to replay: by id, or all that match a filter."""

    change: ReplayInput = ReplayInput()
    """What the replay changes in each of the jobs"""


@router.post("/cancel", summary="Cancel many jobs", status_code=202)
async def cancel_jobs(body: BulkInput, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps) -> BulkOutcomes:
    """Cancel jobs by `ids`, or queued and running ones that match a `filter` of the list; at most 1,000, with the
    outcome of each.
    """
    if body.filter is not None and not body.filter.state:
        body.filter.state = _ALIVE
    ids, more = await _ids(db, caller.tenant, body)
    return BulkOutcomes(items=await _cancelled(db, unit, deps, caller.tenant, ids), more=more)


async def _reads_many_inputs(request: Request, db: AsyncConnection) -> bool:
    """A body of a few bytes names a thousand jobs, and the input of each is checked again."""
    del request, db
    return True


@router.post("/replay", summary="Run the inputs of many jobs again", status_code=202)
@EndpointRules(large=True, refers_to_large=_reads_many_inputs)
async def replay_jobs(
    request: Request, body: BulkReplayInput, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps
) -> BulkOutcomes:
    """Run again, as one batch, those that can be run; the others report why not. `change` is that of a single
    replay. Inputs above 64 kB may have 16 MB in all (`ASSAY_LARGE_BODY_BYTES`).
    """
    ids, more = await _ids(db, caller.tenant, body)
    batch_id = new_id()
    left = most = deps.settings.http.large_body_bytes
    rows: list[Row] = []
    outcomes: list[BulkOutcome] = []
    for id in ids:
        try:
            old = await find(db, id, caller.tenant)
            if (size := _size(old["input"])) > left:
                raise TooLarge(f"The large inputs of these jobs have more than {most} bytes in all. Replay {id} alone.")
            left -= size
            row = await _again(request, caller, deps, db, old, body.change, batch_id)
        except AssayError as error:
            outcomes.append(_refused(id, error))
        else:
            rows.append(row)
            outcomes.append(BulkOutcome(id=id, ok=True, state=JobState.QUEUED, job_id=row["id"]))
    if rows:
        await _submit(deps, db, unit, caller.tenant, batch_id, rows)
    return BulkOutcomes(items=outcomes, batch_id=batch_id if rows else None, more=more)


async def _ids(db: AsyncConnection, tenant: str, body: BulkInput) -> tuple[Sequence[str], bool]:
    if body.ids is not None:
        return list(dict.fromkeys(body.ids)), False
    assert body.filter is not None
    wanted, ids = body.filter.wanted(), list[str]()
    end: Place | None = None
    while len(ids) <= _MOST:
        before, end = end, await end_of_look(db, tenant, wanted, end, _LOOK)
        rows = (await db.execute(listing.page_of_ids(tenant, wanted, _MOST + 1 - len(ids), before, end))).mappings()
        ids += [str(row["id"]) for row in rows]
        if end is None:
            break
    return ids[:_MOST], len(ids) > _MOST


async def _cancelled(
    db: AsyncConnection, unit: Unit, deps: Dependencies, tenant: str, ids: Sequence[str]
) -> list[BulkOutcome]:
    """Cancel them with one statement, whatever their number."""
    states = {row.id: row.state for row in await db.execute(statements.cancel_all(ids, tenant))}
    unit.after_commit.append(lambda: deps.in_background(notify_watchers(deps.redis, _ended(states))))
    rest = [id for id in ids if id not in states]
    others = {row.id: row.state for row in await db.execute(queries.states(tenant, rest))} if rest else {}
    return [
        BulkOutcome(id=id, ok=True, state=states[id])
        if id in states
        else _refused(id, JobFinished(f"The job has already ended: {others[id]}."), others[id])
        if id in others
        else _refused(id, NotFound(f"There is no job {id}."))
        for id in ids
    ]


def _ended(states: Mapping[str, str]) -> dict[str, bool]:
    return {id: state != JobState.RUNNING for id, state in states.items()}


def _size(given: Mapping[str, Any] | JsonText) -> int:
    """Return the bytes of a large input; 0 for another one."""
    return len(given.text) if isinstance(given, JsonText) else 0


async def _again(
    request: Request,
    caller: Caller,
    deps: Dependencies,
    db: AsyncConnection,
    old: views.Row,
    change: ReplayInput,
    batch: str,
) -> Row:
    if isinstance(old["input"], JsonText):
        old = {**old, "input": await asyncio.to_thread(old["input"].read)}
    return await replayed(request, caller, deps, db, old, change, batch_id=batch)


async def _submit(
    deps: Dependencies, db: AsyncConnection, unit: Unit, tenant: str, batch_id: str, rows: list[Row]
) -> None:
    """Submit the jobs as a batch. Raises: QuotaExceeded, Overloaded."""
    await deps.quotas.admit_jobs(db, tenant, len(rows))
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row["id"])
    warned = {kind: await checks.warnings(deps, kind) for kind in kinds}
    for row in rows:
        row["warnings"] = [*warned[row["kind"]], *await checks.doubts(deps, row)]
    await db.execute(submission.submit_batch(batch_id, tenant, rows))
    notify(deps, unit, kinds)


def _refused(id: str, error: AssayError, state: Any = None) -> BulkOutcome:  # noqa: ANN401 - a state's name
    return BulkOutcome(id=id, ok=False, state=state, code=error.code, detail=error.detail)
