"""Rings for accepted jobs: what comes in while one ring is under way goes out together in the next."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from shared.jobs import doorbell

log = structlog.get_logger()

_RING_SECONDS = 1.0


class Ringer:
    """The workers' bells, as one gateway rings them; one that cannot be rung is the reconciler's."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._ringing: asyncio.Task[None] | None = None

    def ring(self, jobs: Mapping[str, Iterable[str]]) -> None:
        """Ring once for every job, by kind; nobody waits for it."""
        for kind, ids in jobs.items():
            self._waiting[kind] += ids
        if self._ringing is None:
            self._ringing = asyncio.create_task(self._ring())

    async def settle(self) -> None:
        """Wait for what is under way, but not long."""
        if self._ringing is not None:
            await asyncio.wait({self._ringing}, timeout=_RING_SECONDS)

    async def _ring(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, defaultdict(list)
                try:
                    async with asyncio.timeout(_RING_SECONDS):
                        for kind, ids in waiting.items():
                            bells = [doorbell.message(kind, id) for id in ids]
                            await self._redis.lpush(doorbell.queue_name(kind), *bells)
                except (RedisError, OSError, TimeoutError) as error:
                    log.warning("bells_not_rung", error=type(error).__name__, jobs=sum(map(len, waiting.values())))
        finally:
            self._ringing = None
