"""``Prefer: wait=N``: the answer is held until the job has ended, or for N seconds, which may have a fraction."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from typing import cast

from fastapi import Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.http.responses import Json
from services.gateway.jobs import views
from services.gateway.notifications import Watch
from shared.contracts.jobs import JobState
from shared.errors import DatabaseUnavailable, NotFound
from shared.jobs.record import queries

_MAX_SECONDS = 60.0
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9}(?:\.\d{1,9})?)\"?(?=$|[,;\s])", re.IGNORECASE)


def hold(request: Request, job_id: str) -> None:
    """Let the request's 202 become a 200 when the job ends while the client wants to wait."""
    seconds = wanted_seconds(request)
    if not seconds:
        return
    deps = cast(Dependencies, request.app.state.dependencies)
    unit = cast(UnitOfWork, request.state.unit)
    watch = ExitStack()
    ends: list[Watch] = []
    # Watched from the commit on: no notification can have come before, so the first look can wait for one.
    unit.after_commit.append(lambda: ends.append(watch.enter_context(deps.watchers.watch(job_id, end_only=True))))

    async def held(response: Response) -> Response:
        with watch:
            row = await _row_of_end(deps, _tenant(request), job_id, seconds, ends[0])
        return response if row is None else _instead(response, row)

    unit.hold = held


def hold_replayed(request: Request, replayed: Response) -> None:
    """Wait likewise for the job of a stored response that is sent again."""
    seconds = wanted_seconds(request)
    if replayed.status_code != 202 or not seconds:
        return
    deps = cast(Dependencies, request.app.state.dependencies)
    job_id = replayed.headers["location"].rpartition("/")[2]

    async def held(response: Response) -> Response:
        row = await finished(deps, _tenant(request), job_id, seconds)
        return response if row is None else _instead(response, row)

    cast(UnitOfWork, request.state.unit).hold = held


def _tenant(request: Request) -> str:
    return cast(Caller, request.state.caller).tenant


def _instead(response: Response, row: views.Row) -> Response:
    kept = {name: response.headers[name] for name in _KEPT if name in response.headers}
    return Json(views.job_view(row), 200, {**kept, "Preference-Applied": "wait"})


_KEPT = ("location", "idempotency-replayed")


def wanted_seconds(request: Request) -> float:
    """Return how long the client would wait; 0 by default."""
    match = _WAIT.search(", ".join(request.headers.getlist("prefer")))
    return min(float(match[1]), _MAX_SECONDS) if match else 0.0


async def finished(deps: Dependencies, tenant: str, job_id: str, seconds: float) -> views.Row | None:
    """Return the job's row if it has ended, or ends in time; None otherwise."""
    with deps.watchers.watch(job_id, end_only=True) as ended:
        ended.wake()  # check at once: it may have ended already
        return await _row_of_end(deps, tenant, job_id, seconds, ended)


async def _row_of_end(deps: Dependencies, tenant: str, job_id: str, seconds: float, ended: Watch) -> views.Row | None:
    deadline = time.monotonic() + seconds
    while not deps.closing.is_set():
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        if not await deps.watchers.wait(ended, left):
            continue
        try:
            async with deps.database.read(tenant) as db:
                row: RowMapping | None = (await db.execute(queries.find(job_id, tenant))).mappings().one_or_none()
        except DatabaseUnavailable:
            ended.wake_soon()  # it may be back before the time is over: the job is accepted
            continue
        if row is None:
            return None
        if JobState(row["state"]).terminal:
            return views.read(row)
    return None


async def find(db: AsyncConnection, id: str, tenant: str) -> views.Row:
    """Return the row of a job. Raises: NotFound."""
    row: RowMapping | None = (await db.execute(queries.find(id, tenant))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no job {id}.")
    return views.read(row)
