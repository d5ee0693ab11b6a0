"""A scripted worker: it says that it is alive, claims jobs, and ends them, all on the real record."""

from __future__ import annotations

from collections.abc import Mapping

import redis
from pydantic import JsonValue
from sqlalchemy import Connection, Engine, select

from shared.contracts.jobs import JobState
from shared.jobs.delivery import notifications
from shared.jobs.record import advertising, statements
from shared.jobs.record.tables import jobs
from shared.kinds import KINDS

ALL = list(KINDS)


def advertise(engine: Engine, *kinds: str, facts: Mapping[str, JsonValue] | None = None, id: str = "w1") -> None:
    with engine.begin() as connection:
        connection.execute(advertising.advertise(id, "execution", kinds or ALL, 4, "1", facts or {}))


def retire(engine: Engine, id: str = "w1") -> None:
    with engine.begin() as connection:
        connection.execute(advertising.retire(id))


def claim(engine: Engine, kind: str = "execute") -> tuple[str, int]:
    """The id and the fence of the next job."""
    with engine.begin() as connection:
        row = connection.execute(statements.claim(kind, "w1", 60).clause).one()
    return row.id, row.fence


def say(engine: Engine, job_id: str, fence: int, type: str, **data: JsonValue) -> None:
    with engine.begin() as connection:
        connection.execute(statements.append_event(held(connection, job_id, fence), type, data).clause)


def held(connection: Connection, job_id: str, fence: int) -> statements.Held:
    tenant = connection.execute(select(jobs.c.tenant_id).where(jobs.c.id == job_id)).scalar_one()
    return statements.Held(tenant, job_id, fence)


def notify(redis_url: str, job_id: str) -> None:
    """Notify every gateway that the job has a new event."""
    with redis.Redis.from_url(redis_url) as client:
        client.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=True))


def complete(
    engine: Engine, job_id: str, fence: int, result: Mapping[str, JsonValue] | None, redis_url: str | None = None
) -> None:
    """End the job: succeeded with a result, failed without one; notify when there is a Redis."""
    state = JobState.SUCCEEDED if result is not None else JobState.FAILED
    fault: dict[str, JsonValue] = {"code": "budget_spent", "title": "t", "status": 422, "detail": "d", "type": "x"}
    error = None if result is not None else fault
    with engine.begin() as connection:
        job = held(connection, job_id, fence)
        ended = statements.complete(job, state, result, error, ["careful"], {"llm_calls": 2})
        connection.execute(ended.clause)
    if redis_url is not None:
        notify(redis_url, job_id)


def notifications_in(redis_url: str, kind: str = "execute") -> int:
    """How many notifications are in the queue of the kind."""
    with redis.Redis.from_url(redis_url) as client:
        return int(client.llen(notifications.queue_name(kind)))
