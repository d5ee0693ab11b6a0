"""Notifications of one worker: a thread sends them, those of a moment in one round trip to Redis."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress

import structlog
from redis import Redis
from redis.exceptions import RedisError

from shared.jobs import notifications

log = structlog.get_logger(__name__)

#: What waits while Redis hangs; older ones are dropped then. Gateways look by themselves, and the reconciler repeats.
_MOST_WAITING = 10_000
_MOST_AT_ONCE = 500
#: How long ``close`` waits for what is under way.
_CLOSE_SECONDS = 2.0


class Notifier:
    """Sends notifications without making the caller wait; like all of them they may be lost. Safe to call from threads.

    The thread begins with the first one.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[tuple[str, str | bytes]] = deque(maxlen=_MOST_WAITING)
        self._news = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def event(self, job_id: str, *, ended: bool = False) -> None:
        """Tell the gateways that the job has a new event, its last one if it has ended."""
        self._send("", notifications.of_event(job_id, ended=ended))

    def work(self, kind: str, job_id: str) -> None:
        """Tell a worker that a job of the kind may be waiting."""
        self._send(notifications.queue_name(kind), notifications.message(kind, job_id))

    def close(self) -> None:
        """Send what waits, and stop; what comes later is dropped."""
        with self._news:
            self._closed = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _send(self, queue: str, payload: str | bytes) -> None:
        with self._news:
            if self._closed:
                return
            self._waiting.append((queue, payload))
            self._news.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while together := self._next():
            pipeline = self._redis.pipeline(transaction=False)
            for queue, payload in dict.fromkeys(together):  # two events of one job are one notification
                if queue:
                    pipeline.lpush(queue, payload)
                else:
                    pipeline.publish(notifications.EVENTS_CHANNEL, payload)
            try:
                pipeline.execute()
            except RedisError as fault:
                log.debug("notifications_not_sent", reason=type(fault).__name__, count=len(together))

    def _next(self) -> list[tuple[str, str | bytes]]:
        """Those that wait, as soon as there are any; none when it is closed."""
        with self._news:
            self._news.wait_for(lambda: self._waiting or self._closed)
            together: list[tuple[str, str | bytes]] = []
            with suppress(IndexError):
                while len(together) < _MOST_AT_ONCE:
                    together.append(self._waiting.popleft())
            return together
