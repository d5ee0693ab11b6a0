"""``Prefer: wait=N``: the answer is held until the job has ended, or for N seconds."""

from __future__ import annotations

import re
import time
from typing import cast

import orjson
from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import views
from services.gateway.answers import Json
from services.gateway.auth import Caller
from services.gateway.record import Work
from services.gateway.resources import Resources
from shared.contracts.jobs import JobState
from shared.errors import DatabaseUnavailable, NotFound
from shared.jobs import queries, submission

_MOST_SECONDS = 60.0
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?(?=$|[,;\s])", re.IGNORECASE)


def hold(request: Request, job_id: str) -> None:
    """Let the request's 202 become a 200 when the job ends while the client wants to wait."""
    seconds = wanted_seconds(request)
    if not seconds:
        return
    has = cast(Resources, request.app.state.resources)
    tenant = cast(Caller, request.state.caller).tenant

    async def held(response: Response) -> Response:
        if not await ended(has, tenant, job_id, seconds):
            return response
        async with has.record.read() as record:
            row = await find(record, job_id, tenant)
        kept = {name: response.headers[name] for name in _KEPT if name in response.headers}
        return Json(views.job_view(row), 200, {**kept, "Preference-Applied": "wait"})

    cast(Work, request.state.work).hold = held


def hold_again(request: Request, replayed: Response) -> None:
    """The same for an answer that is given again: whoever asks twice still wants to wait."""
    if replayed.status_code == 202:
        hold(request, str(orjson.loads(replayed.body)["id"]))


_KEPT = ("location", "idempotency-replayed")


def wanted_seconds(request: Request) -> float:
    """How long the client would wait; 0 when it did not say so."""
    found = _WAIT.search(", ".join(request.headers.getlist("prefer")))
    return min(float(found[1]), _MOST_SECONDS) if found else 0.0


async def ended(has: Resources, tenant: str, job_id: str, seconds: float) -> bool:
    """Whether the job ended in time."""
    deadline = time.monotonic() + seconds
    with has.bells.watch(job_id) as bell:
        while not has.closing.is_set():
            try:
                async with has.record.read() as record:
                    state = (await record.execute(submission.state(job_id, tenant))).scalar_one_or_none()
            except DatabaseUnavailable:
                state = JobState.QUEUED  # accepted it is; perhaps the record is back before the time is over
            if state is None:
                return False
            if JobState(state).terminal:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await has.bells.heard(bell, left)
    return False


async def find(record: AsyncConnection, id: str, tenant: str) -> views.Row:
    """The row of a job. Raises: NotFound."""
    row: views.Row | None = (await record.execute(queries.find(id, tenant))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no job {id}.")
    return row
