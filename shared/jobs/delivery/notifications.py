"""Notifications in Redis: a Celery message for a kind with work, and a published one for a job with news.

Both are lossy on purpose. The message is written here byte for byte as Celery's protocol 2 over kombu's Redis transport
would (a contract test compares it with what Celery itself sends): Celery's own producer would block the event loop.
"""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from redis import Redis

#: The prefix of every queue, channel and lock of Assay in Redis.
PREFIX = "assay:"
TASK = "assay.run"
EVENTS_CHANNEL = f"{PREFIX}events"
_ENDED = " ended"


def of_event(job_id: str, *, ended: bool = False) -> str:
    """Return the payload that is published when a job has a new event, with a suffix for its last one."""
    return job_id + _ENDED if ended else job_id


def parse(payload: str) -> tuple[str, bool]:
    """Return the job of a published notification, and whether it has ended."""
    return payload.removesuffix(_ENDED), payload.endswith(_ENDED)


def queue_name(kind: str) -> str:
    """Return the Redis list of a kind's queue; Celery names the queue like the kind, without the prefix."""
    return f"{PREFIX}{kind}"


def message(kind: str, job_id: str) -> bytes:
    """Return the Celery message that runs ``assay.run(job_id)`` on the queue of the kind."""
    body = orjson.dumps([[job_id], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}])
    return orjson.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": TASK,
                "id": job_id,
                "shadow": None,
                "eta": None,
                "expires": None,
                "group": None,
                "group_index": None,
                "retries": 0,
                "timelimit": [None, None],
                "root_id": job_id,
                "parent_id": None,
                "argsrepr": "",
                "kwargsrepr": "{}",
                "origin": "assay",
                "ignore_result": True,
                "replaced_task_nesting": 0,
                "stamped_headers": None,
                "stamps": {},
            },
            "properties": {
                "correlation_id": job_id,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": kind},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid.uuid4()),
            },
        }
    )


def notify(redis: Redis, kind: str, *job_ids: str) -> bool:
    """Notify for these jobs from a worker or the reconciler; False when Redis does not answer (not an error)."""
    from redis.exceptions import RedisError  # noqa: PLC0415 - the supervisor only needs the names

    try:
        redis.lpush(queue_name(kind), *[message(kind, job_id) for job_id in job_ids])
    except RedisError:
        return False
    return True
