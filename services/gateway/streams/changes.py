"""Every job of the tenant as it is submitted, begun and ended: one stream for a whole list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Header, Query, Response
from sqlalchemy import func, select

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Json
from services.gateway.jobs import items
from services.gateway.jobs.views import Row, View
from services.gateway.routing import routes
from services.gateway.streams import event_stream
from services.gateway.streams.event_stream import News, frame
from shared.contracts.jobs import JobState
from shared.jobs.record import listing

router = routes("/v1/events", "Jobs")

_POLL_SECONDS = 1.0
_PAGE = 200
#: A transaction may commit later than one with a later time: that far each look goes back.
_OVERLAP = timedelta(seconds=3)
#: Older changes are read from the list: the index of ends holds those of all tenants.
_OLDEST = timedelta(minutes=10)
_MAX_MICROSECONDS = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = {JobState.QUEUED: "job_submitted", JobState.RUNNING: "job_started"}

_ANSWERS = event_stream.described(
    "`id:` is the moment of the change in microseconds, `event:` job_submitted, job_started, job_ended or reset, "
    "`data:` the item of the list on one line",
    'id: 1790000000000000\nevent: job_ended\ndata: {"id": "...", "state": "succeeded"}\n\n',
)
_ANSWERS[200]["content"]["application/json"] = {"schema": {"$ref": "#/components/schemas/JobChanges"}}

Moment = Annotated[int | None, Query(ge=0, le=_MAX_MICROSECONDS, description="The last change that was seen")]


@router.get("", summary="Follow all jobs", response_class=Response, responses=_ANSWERS)
async def stream_jobs(
    caller: CurrentCaller,
    deps: Deps,
    after: Moment = None,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=_MAX_MICROSECONDS, description="The same, as browsers send it")
    ] = None,
    accept: Annotated[str, Header(max_length=1000, include_in_schema=False)] = "",
) -> Response:
    """Stream changes after the last one seen, or from now on. A job that changes twice between two polls comes once, in
    its latest state, and one may come again: match jobs by `id`. `reset` means that `after` is more than ten minutes
    ago: read the list again. With `Accept: application/json`, returns a page of the current changes.
    """
    given = after if last_event_id is None else last_event_id
    if "application/json" in accept and "text/event-stream" not in accept:
        seen, is_old = await _beginning(deps, caller.tenant, given)
        rows, views = await _changed(deps, caller.tenant, seen)
        return Json({"items": views, "next_after": _last(rows, seen), "reset": is_old})
    reported: dict[str, tuple[str, int]] = {}  # the state of each reported job, and when that began

    async def begin() -> News:
        seen, is_old = await _beginning(deps, caller.tenant, given)
        return News([frame(seen, "reset", {})] if is_old else (), seen, more=given is not None)

    async def look(seen: int) -> News:
        rows, views = await _changed(deps, caller.tenant, seen)
        changes = [(row, view) for row, view in zip(rows, views, strict=True) if _is_news(reported, row)]
        last = _last(rows, seen)
        _forget(reported, last)
        return News([_frame(row, view) for row, view in changes], last, more=len(rows) == _PAGE and last > seen)

    return await event_stream.stream(deps, caller, f"jobs of {caller.tenant}", begin, look, _POLL_SECONDS)


async def _beginning(deps: Dependencies, tenant: str, given: int | None) -> tuple[int, bool]:
    """Return after which change to begin, and whether the one that was seen is too old to continue after it."""
    now = await _now(deps, tenant)
    seen = now if given is None else min(given, now)
    is_old = seen < now - _OLDEST // timedelta(microseconds=1)
    return (now if is_old else seen), is_old


async def _now(deps: Dependencies, tenant: str) -> int:
    """Return the clock that stamps the changes."""
    async with deps.database.read(tenant) as db:
        return _microseconds((await db.execute(select(func.clock_timestamp()))).scalar_one())


async def _changed(deps: Dependencies, tenant: str, seen: int) -> tuple[Sequence[Row], list[View]]:
    since = _EPOCH + timedelta(microseconds=seen) - _OVERLAP
    async with deps.database.read(tenant) as db:
        rows = (await db.execute(listing.changed(tenant, since, _PAGE))).mappings().all()
        if len(rows) == _PAGE and _microseconds(rows[-1]["changed_at"]) <= seen:
            # The overlap alone fills a page: continue after it.
            since = _EPOCH + timedelta(microseconds=seen)
            rows = (await db.execute(listing.changed(tenant, since, _PAGE))).mappings().all()
        view = await items.viewing(db, deps, tenant, rows)
    return rows, [view(row) for row in rows]


def _is_news(reported: dict[str, tuple[str, int]], row: Row) -> bool:
    before, _ = reported.get(row["id"], (None, 0))
    reported[row["id"]] = (row["state"], _microseconds(row["changed_at"]))
    return before is None or before != row["state"]


def _forget(reported: dict[str, tuple[str, int]], last: int) -> None:
    """Drop entries that no poll can return again."""
    oldest = last - 2 * (_OVERLAP // timedelta(microseconds=1))
    for id in [id for id, (_, at) in reported.items() if at < oldest]:
        del reported[id]


def _last(rows: Sequence[Row], seen: int) -> int:
    return max([seen, *(_microseconds(row["changed_at"]) for row in rows[-1:])])


def _frame(row: Row, view: View) -> bytes:
    return frame(_microseconds(row["changed_at"]), _NAMES.get(JobState(row["state"]), "job_ended"), view)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
