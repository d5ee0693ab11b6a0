"""Notifies workers of accepted jobs: what comes in while one request is under way goes out together in the next."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shared.jobs import notifications

log = structlog.get_logger()

_SEND_SECONDS = 1.0


class Notifier:
    """Sends the notifications of one gateway; one that cannot be sent is left to the reconciler."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._sending: asyncio.Task[None] | None = None

    def notify(self, jobs: Mapping[str, Iterable[str]]) -> None:
        """Notify once for every job, by kind; nobody waits for it."""
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
