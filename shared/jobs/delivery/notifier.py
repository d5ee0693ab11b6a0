"""Notifications of one worker: what comes while one is being sent waits, and goes with the next round trip to Redis."""

from __future__ import annotations

import threading
from collections import deque

import structlog
from redis import Redis
from redis.exceptions import RedisError

from shared.jobs.delivery import notifications

log = structlog.get_logger(__name__)

#: What waits while Redis hangs; older ones are dropped then. Gateways look by themselves, and the reconciler repeats.
_MOST_WAITING = 10_000
_MOST_AT_ONCE = 500


class Notifier:
    """Sends notifications; like all of them they may be lost. Safe to call from threads.

    Alone, a call sends its own at once. A thread of its own would cost each job half a millisecond of waking up.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[tuple[str, str | bytes]] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.Lock()
        self._sending = False

    def event(self, job_id: str, *, ended: bool = False) -> None:
        """Tell the gateways that the job has a new event, its last one if it has ended."""
        self._send("", notifications.of_event(job_id, ended=ended))

    def work(self, kind: str, job_id: str) -> None:
        """Tell a worker that a job of the kind may be waiting."""
        self._send(notifications.queue_name(kind), notifications.message(kind, job_id))

    def _send(self, queue: str, payload: str | bytes) -> None:
        with self._lock:
            self._waiting.append((queue, payload))
            if self._sending:
                return
            self._sending = True
        try:
            self._send_all()
        except BaseException:
            with self._lock:
                self._sending = False
            raise

    def _send_all(self) -> None:
        while together := self._next():
            pipeline = self._redis.pipeline(transaction=False)
            for place, content in dict.fromkeys(together):  # two events of one job are one notification
                if place:
                    pipeline.lpush(place, content)
                else:
                    pipeline.publish(notifications.EVENTS_CHANNEL, content)
            try:
                pipeline.execute()
            except RedisError as fault:
                log.debug("notifications_not_sent", reason=type(fault).__name__, count=len(together))

    def _next(self) -> list[tuple[str, str | bytes]]:
        """Those that wait; none when this call has sent all."""
        with self._lock:
            together = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
            self._sending = bool(together)
            return together
