"""Notifications of one gateway: it tells workers of accepted jobs, and hears of new events of jobs that are watched.

One Redis subscription serves every watcher of this process. A notification may be lost: each watcher also
looks by itself, rarely while the subscription stands, often while it does not.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shared.jobs import notifications

log = structlog.get_logger()

_POLL_SUBSCRIBED_SECONDS = 2.0  # between looks while the subscription stands
_POLL_SECONDS = 0.3  # and while it does not
_RECONNECT_SECONDS = 0.5
_SEND_SECONDS = 1.0


class Notifier:
    """Sends the notifications of one gateway; one that cannot be sent is left to the reconciler."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._sending: asyncio.Task[None] | None = None

    def notify(self, jobs: Mapping[str, Iterable[str]]) -> None:
        """Notify once for every job, by kind; the caller does not wait for it."""
        for kind, ids in jobs.items():
            self._waiting[kind] += ids
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def settle(self) -> None:
        """Wait for what is under way, but not long."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=_SEND_SECONDS)

    async def _send(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, defaultdict(list)
                try:
                    async with asyncio.timeout(_SEND_SECONDS):
                        for kind, ids in waiting.items():
                            messages = [notifications.message(kind, id) for id in ids]
                            await self._redis.lpush(notifications.queue_name(kind), *messages)
                except (RedisError, OSError, TimeoutError) as error:
                    log.warning(
                        "notifications_not_sent", error=type(error).__name__, jobs=sum(map(len, waiting.values()))
                    )
        finally:
            self._sending = None


class Watchers:
    """Everyone in this process who waits for news of a job."""

    def __init__(self, redis_url: str) -> None:
        self._redis = Redis.from_url(redis_url, socket_connect_timeout=1, socket_timeout=10, retry=None)
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._waiters: defaultdict[str, set[asyncio.Event]] = defaultdict(set)  #: for the end of a job only
        self._listening = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self.wake_all()
        await self._redis.aclose()

    @contextmanager
    def watch(self, job_id: str, *, end_only: bool = False) -> Iterator[asyncio.Event]:
        """An event that is set on every notification of the job, or only on that of its end."""
        changed = asyncio.Event()
        book = self._waiters if end_only else self._watchers
        book[job_id].add(changed)
        try:
            yield changed
        finally:
            watchers = book[job_id]
            watchers.discard(changed)
            if not watchers:
                del book[job_id]

    async def wait(self, changed: asyncio.Event, most_seconds: float) -> None:
        """Wait for a notification, but not too long: it is time for another look then."""
        interval = _POLL_SUBSCRIBED_SECONDS if self._listening else _POLL_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(interval, most_seconds))):
                await changed.wait()
        changed.clear()

    def wake_all(self) -> None:
        for book in (self._watchers, self._waiters):
            for watchers in book.values():
                for changed in watchers:
                    changed.set()

    async def _listen(self) -> None:
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(notifications.EVENTS_CHANNEL)
                    self._listening = True
                    self.wake_all()  # notifications may have come before the subscription stood
                    while True:
                        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=5)
                        if message is not None:
                            self._wake(bytes(message["data"]).decode("utf-8", "replace"))
            except (RedisError, OSError) as error:
                if self._listening:
                    log.warning("redis_away", error=type(error).__name__)
                self._listening = False
                self.wake_all()
                await asyncio.sleep(_RECONNECT_SECONDS)

    def _wake(self, payload: str) -> None:
        job_id, has_ended = notifications.parse(payload)
        for book in (self._watchers, self._waiters) if has_ended else (self._watchers,):
            for changed in book.get(job_id, ()):
                changed.set()


async def notify_watchers(redis: Redis, job_id: str, *, ended: bool = False) -> None:
    """Tell every gateway that the job has a new event, or that it has ended."""
    with suppress(RedisError, OSError, TimeoutError):
        async with asyncio.timeout(1):
            await redis.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=ended))
