"""``Prefer: wait=N``: the answer is held until the job has ended, or for N seconds."""

from __future__ import annotations

import re
import time

from fastapi import Request

from services.gateway.resources import Resources
from shared.contracts.jobs import JobState
from shared.errors import DatabaseUnavailable
from shared.jobs import submission

_MOST_SECONDS = 60.0
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,9})\"?(?=$|[,;\s])", re.IGNORECASE)


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
