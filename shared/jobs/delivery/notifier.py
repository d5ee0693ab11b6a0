"""Notifications of one worker: what comes while one is being sent waits, and goes with the next round trip to Redis."""

from __future__ import annotations

import threading
import time
from collections import deque

import structlog
from redis import Redis
from redis.exceptions import RedisError

from shared.jobs.delivery import notifications

log = structlog.get_logger(__name__)

#: What waits while Redis hangs; older ones are dropped then. Gateways look by themselves, and the reconciler repeats.
MAX_WAITING = 10_000
MAX_AT_ONCE = 500
#: How long the notification of a start waits for the job's next event: most short jobs have ended by then.
START_SECONDS = 0.05


class Notifier:
    """Sends notifications, any of which may be lost. Thread-safe.

    A single call sends immediately: a dedicated thread would cost each job half a millisecond of waking up.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[tuple[str, str | bytes]] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._sending = False
        self._started: dict[str, None] = {}
        self._has_started = threading.Event()
        self._thread: threading.Thread | None = None

    def started(self, job_id: str) -> None:
        """Notify the gateways in a moment that the job has started, unless an event of it comes first."""
        with self._lock:
            self._started[job_id] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_starts, name="starts", daemon=True)
                self._thread.start()
        self._has_started.set()

    def event(self, job_id: str, *, ended: bool = False) -> None:
        """Notify the gateways that the job has a new event, its last one if it has ended."""
        with self._lock:
            self._started.pop(job_id, None)
        self._send(("", notifications.of_event(job_id, ended=ended)))

    def work(self, kind: str, job_id: str) -> None:
        """Notify a worker that a job of the kind may be waiting."""
        self._send((notifications.queue_name(kind), notifications.message(kind, job_id)))

    def _send_starts(self) -> None:
        while self._has_started.wait():
            time.sleep(START_SECONDS)
            self._has_started.clear()
            with self._lock:
                job_ids, self._started = self._started, {}
            if job_ids:
                self._send(*[("", notifications.of_event(job_id)) for job_id in job_ids])

    def _send(self, *entries: tuple[str, str | bytes]) -> None:
        with self._lock:
            self._waiting.extend(entries)
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
        """Return the waiting notifications; empty when this call has sent all."""
        with self._lock:
            together = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_AT_ONCE))]
            self._sending = bool(together)
            return together
