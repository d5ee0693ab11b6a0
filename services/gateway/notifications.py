"""Notifications of one gateway: it notifies workers of accepted jobs, and receives new events of watched jobs.

One Redis subscription serves every watcher of this process. A notification may be lost: one query for all that is
watched polls as well, rarely while the subscription is up, often while it is down.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Literal

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shared.errors import DatabaseUnavailable
from shared.jobs.delivery import notifications
from shared.redis_urls import async_client

log = structlog.get_logger()

_POLL_SUBSCRIBED_SECONDS = 2.0  # between polls while the subscription is up
_POLL_SECONDS = 0.3  # and while it does not
_POLL_FLOWS_SECONDS = 0.5
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
    """How far a job or a flow has come."""

    last_seq: int | None  #: of a flow its version; None: there is no such record any more
    ended: bool


Watched = Literal["job", "flow"]
#: What has changed of jobs or flows, by id and the last event that is known of each. Raises: DatabaseUnavailable.
LookAt = Callable[[Mapping[str, int | None]], Awaitable[Mapping[str, Progress]]]
_NOTHING_KNOWN = -1


class Watch:
    """One who waits for news."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.woken = 0  #: the number of its last wake-up: a poll that began later has seen the news

    def wake(self, number: int = 0) -> None:
        self.woken = number or self.woken
        self.changed.set()

    def wake_soon(self) -> None:
        """Look again in a while: the record was away."""
        asyncio.get_running_loop().call_later(_POLL_SECONDS, self.wake)


class _Lookout:
    """Records of one kind that are watched, and what is known of each: one look is for all of them."""

    def __init__(self, look_at: LookAt) -> None:
        self._look_at = look_at
        self._watched: Counter[str] = Counter()  #: how many watch each record
        self._known: dict[str, int | None] = {}  #: the last event of each, as of the last look

    @contextmanager
    def watch(self, id: str) -> Iterator[None]:
        self._watched[id] += 1
        try:
            yield
        finally:
            self._watched[id] -= 1
            if not self._watched[id]:
                del self._watched[id]
                self._known.pop(id, None)

    async def look(self) -> AsyncIterator[tuple[str, Progress]]:
        """Yield what has changed since the last poll. Raises: DatabaseUnavailable."""
        watched = list(self._watched)
        for start in range(0, len(watched), _LOOKED_AT_ONCE):
            ids = watched[start : start + _LOOKED_AT_ONCE]
            changed = await self._look_at({id: self._known.get(id, _NOTHING_KNOWN) for id in ids})
            for id, progress in changed.items():
                if id in self._watched:
                    self._known[id] = progress.last_seq
                    yield id, progress


class Watchers:
    """All watchers in this process, of a job, a flow, or something that is not polled."""

    def __init__(self, redis_url: str, jobs: LookAt, flows: LookAt) -> None:
        self._redis = async_client(redis_url, socket_connect_timeout=1, socket_timeout=10, retry=None)
        self._lookouts: Mapping[Watched, _Lookout] = {"job": _Lookout(jobs), "flow": _Lookout(flows)}
        self._watchers: defaultdict[str, set[Watch]] = defaultdict(set)
        self._waiters: defaultdict[str, set[Watch]] = defaultdict(set)  #: for the end of a job only
        self._numbers = itertools.count(1)
        self._listening = False
        self._missed = asyncio.Event()  #: notifications may have been missed: poll at once
        self._stopping = asyncio.Event()

    def start(self) -> None:
        self._listener = asyncio.create_task(self._listen())
        self._looks = [asyncio.create_task(self._look_for_jobs()), asyncio.create_task(self._look_for_flows())]

    async def stop(self) -> None:
        self._stopping.set()
        self._missed.set()
        # A cancelled poll invalidates its connection, so let it end.
        await asyncio.wait(self._looks, timeout=_SEND_SECONDS)
        for task in (self._listener, *self._looks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.wake_all()
        await self._redis.aclose()

    @contextmanager
    def watch(self, id: str, *, end_only: bool = False, of: Watched | None = "job") -> Iterator[Watch]:
        """Watch the notifications of a job or flow, or only the one of its end.

        ``of`` None: something else, which is not polled when no notification comes.
        """
        watch = Watch()
        book = self._waiters if end_only else self._watchers
        book[id].add(watch)
        try:
            with self._lookouts[of].watch(id) if of else nullcontext():
                yield watch
        finally:
            book[id].discard(watch)
            if not book[id]:
                del book[id]

    async def wait(self, watch: Watch, most_seconds: float) -> bool:
        """Wait, and return whether there was a notification, or may have been one."""
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

    async def _look_for_jobs(self) -> None:
        """Poll for changes whose notification was lost."""
        while not self._stopping.is_set():
            await self._look("job")
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SUBSCRIBED_SECONDS if self._listening else _POLL_SECONDS):
                    await self._missed.wait()
            self._missed.clear()

    async def _look_for_flows(self) -> None:
        """Poll flows more often: a worker's change of a flow sends no notification of the flow."""
        while not self._stopping.is_set():
            await self._look("flow")
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_FLOWS_SECONDS):
                    await self._stopping.wait()

    async def _look(self, of: Watched) -> None:
        try:
            async for id, progress in self._lookouts[of].look():
                self._wake(id, has_ended=progress.ended)
        except DatabaseUnavailable:
            pass  # the next look comes soon
        except Exception:  # a poll that ended for good would go unnoticed until a notification is lost
            log.exception("look_failed", of=of)

    async def _listen(self) -> None:
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(notifications.EVENTS_CHANNEL)
                    self._listening = True
                    self._missed.set()  # what came before the subscription was up
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


async def notify_watchers(redis: Redis, ended: Mapping[str, bool]) -> None:
    """Notify every gateway that these jobs have a new event, and which of them have ended."""
    with suppress(RedisError, OSError, TimeoutError):
        async with asyncio.timeout(1), redis.pipeline(transaction=False) as pipeline:
            for job_id, has_ended in ended.items():
                pipeline.publish(notifications.EVENTS_CHANNEL, notifications.of_event(job_id, ended=has_ended))
            await pipeline.execute()
