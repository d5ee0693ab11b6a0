"""A job's events as a stream: first what has happened, then what happens, from whichever gateway is asked."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from fastapi import Header, Query, Response

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.ids import Id
from services.gateway.routing import routes
from services.gateway.streams import event_stream
from services.gateway.streams.event_stream import COMMENT, COMMENT_SECONDS, OPENING, frame
from shared.contracts.jobs import JobState
from shared.errors import DatabaseUnavailable, NotFound
from shared.jobs import queries

router = routes("/v1/jobs", "Jobs")

_PAGE = 100  # events read at once: with 16 kB each a stream holds 1.6 MB at the most
_MOST_SEQ = 2**31 - 1

_STREAM = event_stream.described(
    "`id:` is the sequence number, `event:` the type, `data:` a JSON object",
    'id: 1\nevent: job_queued\ndata: {"type": "job_queued", "seq": 1}\n\n',
)


@router.get("/{id}/events", summary="Watch a job", response_class=Response, responses=_STREAM)
async def stream_job_events(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    after: Annotated[int, Query(ge=0, le=_MOST_SEQ, description="The last event that was seen")] = 0,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=_MOST_SEQ, description="The same, as browsers send it")
    ] = None,
) -> Response:
    """Events after the last one seen, then live ones; the job's last event ends the stream."""
    seq = after if last_event_id is None else last_event_id
    first = await _news(deps, id, caller.tenant, seq)
    if not first:
        raise NotFound(f"There is no job {id}.")
    return event_stream.answer(_stream(deps, id, caller.tenant, seq, first))


Rows = list[Mapping[str, Any]]


async def _stream(deps: Dependencies, job_id: str, tenant: str, seq: int, first: Rows) -> AsyncIterator[bytes]:
    deps.metrics.streams.inc()
    try:
        with deps.watchers.watch(job_id) as changed:
            yield OPENING
            spoke = time.monotonic()
            rows = first
            while not deps.closing.is_set():
                events = [row for row in rows if row["seq"] is not None]
                if events:
                    seq = events[-1]["seq"]
                    yield b"".join(_frame(job_id, row) for row in events)
                    spoke = time.monotonic()
                if len(events) < _PAGE:
                    if not rows or JobState(rows[0]["state"]).terminal:
                        return
                    await deps.watchers.wait(changed, spoke + COMMENT_SECONDS - time.monotonic())
                    if time.monotonic() - spoke >= COMMENT_SECONDS:
                        yield COMMENT
                        spoke = time.monotonic()
                rows = await _patient_news(deps, job_id, tenant, seq, rows)
    finally:
        deps.metrics.streams.dec()


async def _news(deps: Dependencies, job_id: str, tenant: str, seq: int) -> Rows:
    async with deps.database.read() as db:
        rows = (await db.execute(queries.events_after(job_id, tenant, seq, _PAGE))).mappings().all()
    return [dict(row) for row in rows]


async def _patient_news(deps: Dependencies, job_id: str, tenant: str, seq: int, before: Rows) -> Rows:
    """What is new; nothing while Postgres is away, and the stream goes on when it is back."""
    try:
        # The client may be gone any moment, and with it the task that asks.
        return await deps.to_its_end(_news(deps, job_id, tenant, seq))
    except DatabaseUnavailable:
        return [{"state": before[0]["state"], "seq": None}]


def _frame(job_id: str, row: Mapping[str, Any]) -> bytes:
    envelope = {"type": row["type"], "job_id": job_id, "seq": row["seq"], "at": row["at"]}
    return frame(row["seq"], row["type"], {**row["data"], **envelope})
