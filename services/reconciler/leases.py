"""Expired leases: the job of a worker without heartbeats is queued again, or dead after too many of them."""

from __future__ import annotations

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Engine

from shared.errors import WorkerCrashed
from shared.jobs import metrics, notifications, statements

log = structlog.get_logger(__name__)


def reclaim_expired(engine: Engine, redis: Redis, crashes_until_dead: int) -> int:
    """Take back every job whose lease ran out; the number of them."""
    death = WorkerCrashed(
        f"The worker that ran this job died or fell silent {crashes_until_dead} times, so it will not be tried again. "
        "The workers' logs say why; replay the job when the cause is gone."
    )
    with engine.begin() as connection:
        reclaimed = connection.execute(statements.reclaim(crashes_until_dead, death.problem())).all()
    for job_id, kind, state in reclaimed:
        metrics.lease_expired.inc()
        if state == "dead":
            metrics.jobs_dead.labels(kind).inc()
        log.warning("lease_expired", job_id=job_id, kind=kind, state=state)
        if state != "queued":
            _tell(redis, job_id)
    return len(reclaimed)


def _tell(redis: Redis, job_id: str) -> None:
    try:
        redis.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=True))
    except RedisError:
        log.debug("event_notification_failed")
