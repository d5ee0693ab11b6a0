"""Rates: how many requests a tenant may send in a minute, counted in Redis for all gateways together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import dataclass

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.gateway.admission.quotas import Quotas
from shared.errors import TooManyRequests

log = structlog.get_logger()

_REDIS_SECONDS = 0.1
_RETRY_SHARED_SECONDS = 2.0  # after Redis has failed, before it is tried again
_CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000


@dataclass
class _Allowance:
    """Requests reserved from the shared count at once, so that few requests wait for Redis."""

    left: int
    remaining: int  #: in the shared count, when it was reserved
    resets_at: float


class Rates:
    """Admits requests, or says when to try again."""

    def __init__(self, quotas: Quotas, redis: Redis) -> None:
        self._quotas = quotas
        self._shared = FixedWindowRateLimiter(
            RedisStorage(
                "async+redis://",
                implementation="redispy",
                key_prefix="assay:rate",
                connection_pool=redis.connection_pool,  # type: ignore[arg-type]
            )
        )
        self._local = FixedWindowRateLimiter(MemoryStorage())
        self._retry_shared_at = 0.0
        self._reserving = asyncio.Lock()
        self._allowances: dict[str, _Allowance] = {}

    async def admit(self, tenant: str, headers: MutableMapping[str, str]) -> None:
        """Count one request, and name in the headers what is left. Raises: TooManyRequests."""
        limit = (await self._quotas.limits(tenant))["requests_per_minute"]
        if not limit:
            return
        allowance = self._current(tenant)
        if allowance is None:
            async with self._reserving:  # one at a time: another request may have reserved meanwhile
                allowance = self._current(tenant) or await self._reserve(tenant, limit)
        allowance.left -= 1
        seconds = max(1, round(allowance.resets_at - time.time()))
        left = max(0, allowance.remaining + allowance.left)
        headers["RateLimit-Policy"] = f'"tenant";q={limit};w=60'
        headers["RateLimit"] = f'"tenant";r={left};t={seconds}'
        if allowance.left < 0:
            allowance.left = 0
            detail = f"The tenant may send {limit} requests in a minute. Try again in {seconds} s."
            raise TooManyRequests(detail, retry_after=seconds)

    def _current(self, tenant: str) -> _Allowance | None:
        allowance = self._allowances.get(tenant)
        return allowance if allowance and allowance.left > 0 and time.time() < allowance.resets_at else None

    async def _reserve(self, tenant: str, limit: int) -> _Allowance:
        if time.monotonic() >= self._retry_shared_at:
            try:
                async with asyncio.timeout(_REDIS_SECONDS):
                    return await self._reserve_from(self._shared, tenant, limit)
            except (RedisError, OSError, TimeoutError) as error:
                self._retry_shared_at = time.monotonic() + _RETRY_SHARED_SECONDS
                log.warning("rate_limit_is_local", error=type(error).__name__)
        return await self._reserve_from(self._local, tenant, limit)

    async def _reserve_from(self, limiter: FixedWindowRateLimiter, tenant: str, limit: int) -> _Allowance:
        item, reserved = RateLimitItemPerMinute(limit), max(1, limit // 1000)
        if not await limiter.hit(item, tenant, cost=reserved):
            reserved = 0
        resets_at, remaining = await limiter.get_window_stats(item, tenant)
        if len(self._allowances) >= _CACHE_SIZE:
            self._allowances.clear()
        allowance = self._allowances[tenant] = _Allowance(reserved, remaining, resets_at)
        return allowance
