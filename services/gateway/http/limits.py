"""How much a tenant may ask for: requests in a minute, jobs that wait, model tokens in a day."""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.gateway.database import Database
from services.gateway.settings import HttpSettings
from shared.errors import Overloaded, QuotaExceeded, TooManyRequests
from shared.jobs import queries
from shared.llm.ledger import tokens_since

log = structlog.get_logger()

_REDIS_SECONDS = 0.1
_RETRY_SHARED_SECONDS = 2.0  # after Redis has failed, before it is asked again
_CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000


@dataclass
class _Allowance:
    """Requests that were reserved from the shared count at once, so that not every request asks Redis."""

    left: int
    remaining: int  #: in the shared count, when it was reserved
    resets_at: float


class AdmissionControl:
    """Admits requests and jobs, or says when to come again."""

    def __init__(self, settings: HttpSettings, tokens_per_day: int, database: Database, redis: Redis) -> None:
        self._settings = settings
        self._tokens_per_day = tokens_per_day
        self._database = database
        self._limit: RateLimitItem = RateLimitItemPerMinute(max(1, settings.requests_per_minute))
        self._allowance_size = max(1, settings.requests_per_minute // 1000)
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
        self._queued: dict[str, tuple[int, int, float]] = {}

    async def admit_request(self, tenant: str, headers: MutableMapping[str, str]) -> None:
        """Count one request, and say in the headers what is left. Raises: TooManyRequests."""
        most = self._settings.requests_per_minute
        if not most:
            return
        allowance = self._current(tenant)
        if allowance is None:
            async with self._reserving:  # one at a time: another request may have reserved meanwhile
                allowance = self._current(tenant) or await self._reserve(tenant)
        allowance.left -= 1
        seconds = max(1, round(allowance.resets_at - time.time()))
        left = max(0, allowance.remaining + allowance.left)
        headers["RateLimit-Policy"] = f'"tenant";q={most};w=60'
        headers["RateLimit"] = f'"tenant";r={left};t={seconds}'
        if allowance.left < 0:
            allowance.left = 0
            detail = f"The tenant may send {most} requests in a minute. Try again in {seconds} s."
            raise TooManyRequests(detail, retry_after=seconds)

    async def admit_jobs(self, tenant: str, count: int) -> None:
        """Raises: QuotaExceeded, Overloaded when too many jobs wait already."""
        mine, everyone, until = self._queued.get(tenant, (0, 0, 0.0))
        if time.monotonic() >= until:
            began = time.monotonic()
            async with self._database.read() as connection:
                row = (await connection.execute(queries.queued_counts(tenant))).one()
            # A long queue takes long to count: then it is counted less often.
            cached_for = max(_CACHE_SECONDS, 50 * (time.monotonic() - began))
            mine, everyone, until = row.mine, row.everyone, time.monotonic() + cached_for
            if len(self._queued) >= _CACHE_SIZE:
                self._queued.clear()
        if mine + count > self._settings.queued_per_tenant:
            raise QuotaExceeded(
                f"The tenant has {mine} queued jobs; {self._settings.queued_per_tenant} are allowed.", retry_after=10
            )
        if everyone + count > self._settings.queued_in_all:
            raise Overloaded("Too many jobs are queued here; try again later.", retry_after=10)
        self._queued[tenant] = (mine + count, everyone + count, until)

    async def admit_tokens(self, tenant: str) -> None:
        """Raises: QuotaExceeded when the tenant's model tokens of today (UTC) are spent."""
        if not self._tokens_per_day:
            return
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        async with self._database.read() as connection:
            spent = (await connection.execute(tokens_since(tenant, midnight))).scalar_one()
        if spent >= self._tokens_per_day:
            tomorrow = midnight + timedelta(days=1)
            raise QuotaExceeded(
                f"The tenant has used {spent} of its {self._tokens_per_day} model tokens today.",
                retry_after=int((tomorrow - now).total_seconds()) + 1,
            )

    def _current(self, tenant: str) -> _Allowance | None:
        allowance = self._allowances.get(tenant)
        return allowance if allowance and allowance.left > 0 and time.time() < allowance.resets_at else None

    async def _reserve(self, tenant: str) -> _Allowance:
        if time.monotonic() >= self._retry_shared_at:
            try:
                async with asyncio.timeout(_REDIS_SECONDS):
                    return await self._reserve_from(self._shared, tenant)
            except (RedisError, OSError, TimeoutError) as error:
                self._retry_shared_at = time.monotonic() + _RETRY_SHARED_SECONDS
                log.warning("rate_limit_is_local", error=type(error).__name__)
        return await self._reserve_from(self._local, tenant)

    async def _reserve_from(self, limiter: FixedWindowRateLimiter, tenant: str) -> _Allowance:
        reserved = self._allowance_size
        if not await limiter.hit(self._limit, tenant, cost=reserved):
            reserved = 0
        resets_at, remaining = await limiter.get_window_stats(self._limit, tenant)
        if len(self._allowances) >= _CACHE_SIZE:
            self._allowances.clear()
        allowance = self._allowances[tenant] = _Allowance(reserved, remaining, resets_at)
        return allowance
