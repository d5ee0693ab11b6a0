"""A job's events, past and live, as a stream from any gateway, or as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Header, Query, Response
from sqlalchemy import RowMapping

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Json, encode
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from services.gateway.streams import event_stream
from services.gateway.streams.event_stream import News, frame
from shared.contracts.jobs import JobState
from shared.errors import InvalidRequest, NotFound
from shared.jobs.record import queries

router = routes("/v1/jobs", "Jobs")

_PAGE = 100  # events read at once: with 16 kB each a stream holds 1.6 MB at the most
_MAX_SEQ = 2**31 - 1

_PAGE_BYTES = 1_000_000  # a page ends early once it holds so much

_ANSWERS = event_stream.described(
    "`id:` is the sequence number, `event:` the type, `data:` a `JobEvent` (see its schema) on one line",
    'id: 1\nevent: job_queued\ndata: {"type": "job_queued", "seq": 1}\n\n',
)
_ANSWERS[200]["content"]["application/json"] = {"schema": {"$ref": "#/components/schemas/EventPage"}}


@router.get("/{id}/events", summary="Watch a job", response_class=Response, responses=_ANSWERS)
async def stream_job_events(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ, description="The last event that was seen")] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=_MAX_SEQ, description="The same, as browsers send it")] = None,
    accept: Annotated[str, Header(max_length=1000, include_in_schema=False)] = "",
    type: Annotated[
        list[Annotated[str, Query(max_length=64)]], Query(max_length=20, description="Of a page: any of these types")
    ] = [],  # noqa: B006 - FastAPI copies it
    limit: Annotated[int | None, Query(ge=1, le=1000, description="Of a page: how many it holds; 100")] = None,
) -> Response:
    """Events after the last one seen, then live ones; the job's last event ends the stream.

    With `Accept: application/json` a page of those that there are, which is also shorter than `limit` from 1 MB on.
    """
    seen = after if last_event_id is None else last_event_id
    if "application/json" in accept and "text/event-stream" not in accept:
        return Json(await _page(deps, id, caller.tenant, seen, type, limit or _PAGE))
    if type or limit:
        message = "it is for a page; request one with Accept: application/json"
        raise InvalidRequest(f"query: {message}", [(["query", "type" if type else "limit"], message)])

    async def begin() -> News:
        rows = await _rows(deps, id, caller.tenant, seen)
        if not rows:
            raise NotFound(f"There is no job {id}.")
        return _news(id, rows, seen)

    async def look(seen: int) -> News:
        return _news(id, await _rows(deps, id, caller.tenant, seen), seen)

    return await event_stream.stream(deps, caller, id, begin, look)


async def _page(
    deps: Dependencies, job_id: str, tenant: str, seen: int, types: Sequence[str], limit: int
) -> dict[str, object]:
    """Return up to ``limit`` events. Raises: NotFound."""
    items: list[dict[str, object]] = []
    size = 0
    while True:
        wanted = min(_PAGE, limit - len(items))
        rows = await _rows(deps, job_id, tenant, seen, wanted, types)
        if not rows:
            raise NotFound(f"There is no job {job_id}.")
        events = [_event(job_id, row) for row in rows if row["seq"] is not None]
        items += events
        size += len(encode(events))
        seen = rows[-1]["seq"] or seen
        if len(events) < wanted:
            return {"items": items, "state": rows[0]["state"], "next_after": None}
        if len(items) == limit or size > _PAGE_BYTES:
            return {"items": items, "state": rows[0]["state"], "next_after": seen}


async def _rows(
    deps: Dependencies, job_id: str, tenant: str, seen: int, most: int = _PAGE, types: Sequence[str] = ()
) -> Sequence[RowMapping]:
    """Return the next events, each with the job's state; a row without ``seq`` for a job without new ones."""
    async with deps.database.read(tenant) as db:
        return (await db.execute(queries.events_after(job_id, tenant, seen, most, types))).mappings().all()


def _news(job_id: str, rows: Sequence[RowMapping], seen: int) -> News:
    events = [row for row in rows if row["seq"] is not None]
    more = len(events) == _PAGE
    ended = not more and (not rows or JobState(rows[0]["state"]).terminal)
    joined = b"".join(_frame(job_id, row) for row in events)
    return News([joined] if events else (), events[-1]["seq"] if events else seen, more, ended)


def _frame(job_id: str, row: RowMapping) -> bytes:
    return frame(row["seq"], row["type"], _event(job_id, row))


def _event(job_id: str, row: RowMapping) -> dict[str, object]:
    return {**row["data"], "type": row["type"], "job_id": job_id, "seq": row["seq"], "at": row["at"]}
