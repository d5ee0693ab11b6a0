"""Lost notifications are sent again: Postgres knows which jobs wait, Redis only how many notifications are queued."""

from __future__ import annotations

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Engine

from shared.jobs import maintenance, metrics, notifications

log = structlog.get_logger(__name__)

#: A job that was notified this recently is left alone: its notification is on its way to a worker.
QUIET_SECONDS = 1.0
#: Notifications sent at once for one kind; the next round follows within a second.
_MOST = 5_000


def notify_again(engine: Engine, redis: Redis) -> int:
    """Notify for waiting jobs that have no notification; the number sent.

    Any notification serves any job of its kind, so a kind lacks as many as it has ready jobs beyond the queued ones.
    """
    with engine.connect() as connection:
        waiting = connection.execute(maintenance.waiting_jobs(QUIET_SECONDS)).all()
    sent = 0
    for kind, ready, quiet in waiting:
        try:
            missing = min(ready - int(redis.llen(notifications.queue_name(kind))), quiet, _MOST)
        except RedisError as fault:
            log.warning("redis_away", reason=type(fault).__name__)
            return sent
        if missing > 0:
            sent += _send(engine, redis, kind, missing)
    return sent


def _send(engine: Engine, redis: Redis, kind: str, missing: int) -> int:
    with engine.begin() as connection:
        ids = list(connection.execute(maintenance.unnotified_jobs(kind, QUIET_SECONDS, missing)).scalars())
    if not ids or not notifications.notify(redis, kind, *ids):
        return 0
    metrics.reconciler_notified.labels(kind).inc(len(ids))
    log.info("notified_again", kind=kind, count=len(ids))
    return len(ids)
