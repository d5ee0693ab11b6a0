"""Lost bells are rung again: Postgres knows which jobs wait, Redis only how many bells hang."""

from __future__ import annotations

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Engine

from shared.jobs import doorbell, metrics, statements

log = structlog.get_logger(__name__)

#: A job that was rung for this recently is left alone: its bell is on its way to a worker.
QUIET_SECONDS = 1.0
#: Bells rung at once for one kind; the next round follows within a second.
_MOST = 5_000


def ring_lost(engine: Engine, redis: Redis) -> int:
    """Ring for waiting jobs that have no bell; the number of bells rung.

    Any bell serves any job of its kind, so a kind lacks as many bells as it has more ready jobs than hanging bells.
    """
    with engine.connect() as connection:
        waiting = connection.execute(statements.waiting_bells(QUIET_SECONDS)).all()
    rung = 0
    for kind, ready, quiet in waiting:
        try:
            missing = min(ready - int(redis.llen(doorbell.queue_name(kind))), quiet, _MOST)
        except RedisError as fault:
            log.warning("redis_away", reason=type(fault).__name__)
            return rung
        if missing > 0:
            rung += _ring(engine, redis, kind, missing)
    return rung


def _ring(engine: Engine, redis: Redis, kind: str, missing: int) -> int:
    with engine.begin() as connection:
        ids = list(connection.execute(statements.lost_bells(kind, QUIET_SECONDS, missing)).scalars())
    if not ids or not doorbell.ring(redis, kind, *ids):
        return 0
    metrics.reconciler_rung.labels(kind).inc(len(ids))
    log.info("rung_again", kind=kind, count=len(ids))
    return len(ids)
