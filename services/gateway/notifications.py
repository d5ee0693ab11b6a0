"""Notifications of one gateway: it tells workers of accepted jobs, and hears of new events of jobs that are watched.

One Redis subscription serves every watcher of this process. A notification may be lost: one statement for all that is
watched looks as well, rarely while the subscription stands, often while it does not.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shared.errors import DatabaseUnavailable
from shared.jobs import notifications
from shared.redis_urls import async_client

log = structlog.get_logger()

_POLL_SUBSCRIBED_SECONDS = 2.0  # between looks while the subscription stands
_POLL_SECONDS = 0.3  # and while it does not
_LOOKED_AT_ONCE = 1000
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


@dataclass(frozen=True)
class Progress:
    """How far a job has come."""

    last_seq: int | None  #: None: there is no such job any more
    ended: bool


#: What has changed of jobs, by id and the last event that is known of each. Raises: DatabaseUnavailable.
LookAt = Callable[[Mapping[str, int | None]], Awaitable[Mapping[str, Progress]]]
_NOTHING_KNOWN = -1


class Watch:
    """One who waits for news."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.woken = 0  #: the number of what woke it last: a look that began after that has seen the news

    def wake(self, number: int = 0) -> None:
        self.woken = number or self.woken
        self.changed.set()

    def wake_soon(self) -> None:
        """Look again in a while: the record was away."""
        asyncio.get_running_loop().call_later(_POLL_SECONDS, self.wake)


class Watchers:
    """Everyone in this process who waits for news of a job, or of a flow, which nobody looks at for them."""

    def __init__(self, redis_url: str, look_at: LookAt) -> None:
        self._redis = async_client(redis_url, socket_connect_timeout=1, socket_timeout=10, retry=None)
        self._look_at = look_at
        self._watchers: defaultdict[str, set[Watch]] = defaultdict(set)
        self._waiters: defaultdict[str, set[Watch]] = defaultdict(set)  #: for the end of a job only
        self._jobs: Counter[str] = Counter()  #: how many watch each job
        self._known: dict[str, int | None] = {}  #: the last event of the watched jobs, as of the last look
        self._numbers = itertools.count(1)
        self._listening = False
        self._missed = asyncio.Event()  #: notifications may have been missed: look at once
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._look())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.wake_all()
        await self._redis.aclose()

    @contextmanager
    def watch(self, id: str, *, end_only: bool = False, is_job: bool = True) -> Iterator[Watch]:
        """What is woken by every notification of the job, or only by that of its end."""
        watch = Watch()
        book = self._waiters if end_only else self._watchers
        book[id].add(watch)
        self._jobs.update([id] if is_job else [])
        try:
            yield watch
        finally:
            book[id].discard(watch)
            if not book[id]:
                del book[id]
            if is_job:
                self._jobs.subtract([id])
            if not self._jobs[id]:
                del self._jobs[id]
                self._known.pop(id, None)

    async def wait(self, watch: Watch, most_seconds: float) -> bool:
        """Whether there was a notification in that time, or may have been one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, most_seconds)):
                await watch.changed.wait()
        changed = watch.changed.is_set()
        watch.changed.clear()
        return changed

    def wake_all(self) -> None:
        number = next(self._numbers)
        for book in (self._watchers, self._waiters):
            for watchers in book.values():
                for watch in watchers:
                    watch.wake(number)

    async def _look(self) -> None:
        """Find what no notification told."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SUBSCRIBED_SECONDS if self._listening else _POLL_SECONDS):
                    await self._missed.wait()
            self._missed.clear()
            watched = list(self._jobs)
            with suppress(DatabaseUnavailable):
                for start in range(0, len(watched), _LOOKED_AT_ONCE):
                    ids = watched[start : start + _LOOKED_AT_ONCE]
                    changed = await self._look_at({id: self._known.get(id, _NOTHING_KNOWN) for id in ids})
                    for id, progress in changed.items():
                        self._has_changed(id, progress)

    def _has_changed(self, id: str, progress: Progress) -> None:
        if id in self._jobs:
            self._known[id] = progress.last_seq
            self._wake(id, has_ended=progress.ended)

    async def _listen(self) -> None:
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(notifications.EVENTS_CHANNEL)
                    self._listening = True
                    self._missed.set()  # what came before the subscription stood
                    while True:
                        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=5)
                        if message is not None:
                            payload = bytes(message["data"]).decode("utf-8", "replace")
                            job_id, has_ended = notifications.parse(payload)
                            self._wake(job_id, has_ended=has_ended)
            except (RedisError, OSError) as error:
                if self._listening:
                    log.warning("redis_away", error=type(error).__name__)
                    self._missed.set()
                self._listening = False
                await asyncio.sleep(_RECONNECT_SECONDS)

    def _wake(self, id: str, *, has_ended: bool) -> None:
        number = next(self._numbers)
        for book in (self._watchers, self._waiters) if has_ended else (self._watchers,):
            for watch in book.get(id, ()):
                watch.wake(number)


async def notify_watchers(redis: Redis, job_id: str, *, ended: bool = False) -> None:
    """Tell every gateway that the job has a new event, or that it has ended."""
    with suppress(RedisError, OSError, TimeoutError):
        async with asyncio.timeout(1):
            await redis.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=ended))
