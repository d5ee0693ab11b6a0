"""Recovery of what was lost: leases whose worker fell silent, and notifications that no worker took."""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Engine

from shared.amounts import amount
from shared.errors import WorkerCrashed
from shared.jobs import metrics
from shared.jobs.delivery import notifications
from shared.jobs.record import statements
from shared.jobs.upkeep import maintenance
from shared.kinds import KINDS

log = structlog.get_logger(__name__)

#: A job that was notified this recently is left alone: its notification is on its way to a worker.
QUIET_SECONDS = 1.0
#: Notifications sent at once for one kind; the next round follows within a second.
_MOST = 1_000
#: A job is dead after so many times as many workers that fell silent and came back: it is the cause, not the machine.
SILENCES_PER_CRASH = 4
#: Leases for which a job waits before it is dead.
LAST_WAIT = 2
#: Notifications of a kind that may be queued beyond its ready jobs.
SPARE = 100


def reclaim_expired(engine: Engine, redis: Redis, crashes_until_dead: int, wait_seconds: float = 20.0) -> int:
    """Take back the jobs of every worker that fell silent; the number of them.

    A job that is to be dead waits for ``wait_seconds`` before, in which a silent worker may come back.
    """
    silences = crashes_until_dead * SILENCES_PER_CRASH
    death = WorkerCrashed(
        f"This job ended {amount(crashes_until_dead, 'worker')}, or silenced its workers {amount(silences, 'time')}, "
        "so it will not be tried again. The workers' logs say why; replay the job when the cause is gone."
    )
    with engine.begin() as connection:
        reclaimed = [
            *connection.execute(statements.reclaim(crashes_until_dead, silences, wait_seconds, death.problem())),
            *connection.execute(statements.bury(death.problem())),
        ]
    for job_id, kind, state, suspect in reclaimed:
        metrics.lease_expired.inc()
        if state == "dead":
            metrics.jobs_dead.labels(kind).inc()
        log.warning("lease_expired", job_id=job_id, kind=kind, state=state, suspect=suspect)
        if state != "queued":
            _tell(redis, job_id)
    return len(reclaimed)


def _tell(redis: Redis, job_id: str) -> None:
    try:
        redis.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=True))
    except RedisError:
        log.debug("event_notification_failed")


def notify_again(engine: Engine, redis: Redis) -> int:
    """Notify for waiting jobs that have no notification; the number sent.

    Any notification serves any job of its kind, so a kind lacks as many as it has ready jobs beyond the queued ones.
    One notification may have served several jobs: those that are left over are dropped, but for a few that may be of
    jobs that were accepted meanwhile.
    """
    with engine.connect() as connection:
        waiting = {row.kind: row for row in connection.execute(maintenance.waiting_jobs(QUIET_SECONDS))}
    try:
        queued = _trimmed(redis, {kind: waiting[kind].ready if kind in waiting else 0 for kind in {*KINDS, *waiting}})
    except RedisError as fault:
        log.warning("redis_away", reason=type(fault).__name__)
        return 0
    sent = 0
    for kind, row in waiting.items():
        missing = min(row.ready - queued[kind], row.quiet, _MOST)
        if missing > 0:
            sent += _send(engine, redis, kind, missing)
    return sent


def _trimmed(redis: Redis, ready: Mapping[str, int]) -> Mapping[str, int]:
    """Drop the oldest notifications of each kind beyond its ready jobs; how many are queued. Raises: RedisError."""
    pipeline = redis.pipeline(transaction=False)
    for kind, jobs in ready.items():
        pipeline.ltrim(notifications.queue_name(kind), 0, jobs + SPARE - 1)
        pipeline.llen(notifications.queue_name(kind))
    return dict(zip(ready, pipeline.execute()[1::2], strict=True))


def _send(engine: Engine, redis: Redis, kind: str, missing: int) -> int:
    with engine.begin() as connection:
        ids = list(connection.execute(maintenance.unnotified_jobs(kind, QUIET_SECONDS, missing)).scalars())
    if not ids or not notifications.notify(redis, kind, *ids):
        return 0
    metrics.reconciler_notified.labels(kind).inc(len(ids))
    log.info("notified_again", kind=kind, count=len(ids))
    return len(ids)
