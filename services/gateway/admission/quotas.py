"""Quotas: how many jobs, tokens, bytes and streams a tenant may have, and the error once they are used up."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Executable
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.settings import Settings
from shared.contracts.limits import Quota, TenantLimits
from shared.errors import DatabaseUnavailable, Overloaded, QuotaExceeded
from shared.jobs.content import uploads
from shared.jobs.record import counts, quotas
from shared.llm.ledger import tokens_since

_CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000
#: Jobs below the limit from where on they are counted exactly: more than other gateways add before this one sees it.
_NEAR_JOBS = 5_000
#: A limit of 0 means unlimited.
_ZERO_IS_NONE = frozenset({"running_jobs", "tokens_per_day", "requests_per_minute"})
Limits = Mapping[str, int]
#: Opens a connection to Postgres that sees all tenants.
Read = Callable[[], AbstractAsyncContextManager[AsyncConnection]]


class Counted:
    """A number of each tenant's as Postgres counts it, and what was added since."""

    def __init__(self, read: Read, statement: Callable[[str], Executable]) -> None:
        self._read = read
        self._statement = statement
        self._known: dict[str, tuple[int, float]] = {}

    async def now(self, tenant: str) -> int:
        """Return the count, at most a second old; slow counts are refreshed less often. Raises: DatabaseUnavailable."""
        count, until = self._known.get(tenant, (0, 0.0))
        if time.monotonic() >= until:
            began = time.monotonic()
            async with self._read() as connection:
                count = (await connection.execute(self._statement(tenant))).scalar_one()
            ended = time.monotonic()
            if len(self._known) >= _CACHE_SIZE:
                self._known.clear()
            self._known[tenant] = count, ended + max(_CACHE_SECONDS, 50 * (ended - began))
        return count

    def add(self, tenant: str, more: int) -> None:
        if (known := self._known.get(tenant)) is not None:
            self._known[tenant] = known[0] + more, known[1]


class Quotas:
    """The limits of every tenant, and their enforcement where the gateway is the one to enforce them."""

    def __init__(self, settings: Settings, read: Read) -> None:
        http = settings.http
        self._defaults: Limits = {
            "queued_jobs": http.queued_per_tenant,
            "running_jobs": settings.jobs.tenant_running,
            "storage_bytes": settings.jobs.storage_per_tenant,
            "streams": http.streams_per_key,
            "tokens_per_day": settings.calls.tenant_tokens_per_day,
            "requests_per_minute": http.requests_per_minute,
            "weight": 1,
        }
        self._read = read
        self._queued_in_all = http.queued_in_all
        self._own: dict[str, tuple[Limits, float]] = {}
        self._queued = Counted(read, counts.queued_of)
        self._everyone = Counted(read, lambda _: counts.queued_in_all())
        self._stored = Counted(read, quotas.stored_bytes)
        self._tokens = Counted(read, lambda tenant: tokens_since(tenant, _midnight()))

    async def limits(self, tenant: str) -> Limits:
        """Return the limits, at most a second old; while Postgres is unreachable, the last known ones."""
        return {**self._defaults, **await self._set_for(tenant)}

    async def _set_for(self, tenant: str) -> Limits:
        """Return what an administrator set for the tenant."""
        known, until = self._own.get(tenant, ({}, 0.0))
        if time.monotonic() < until:
            return known
        try:
            async with self._read() as connection:
                row = (await connection.execute(quotas.limits_of(tenant))).mappings().one_or_none()
        except DatabaseUnavailable:
            return known
        own = {} if row is None else {name: value for name, value in row.items() if value is not None}
        if len(self._own) >= _CACHE_SIZE:
            self._own.clear()
        self._own[tenant] = own, time.monotonic() + _CACHE_SECONDS
        return own

    def weight(self, tenant: str) -> int:
        """Return the tenant's weight as it was known last."""
        own, _ = self._own.get(tenant, ({}, 0.0))
        return own.get("weight", self._defaults["weight"])

    def forget(self, tenant: str) -> None:
        """Drop the tenant's cached limits after a change."""
        self._own.pop(tenant, None)

    async def admit_jobs(self, db: AsyncConnection, tenant: str, count: int) -> None:
        """Admit jobs that this transaction adds. Raises: QuotaExceeded, Overloaded when too many jobs wait already.

        Near the limit the tenant's submits wait for each other, and see what others have added.
        """
        most, mine = (await self.limits(tenant))["queued_jobs"], await self._queued.now(tenant)
        if mine + count + max(_NEAR_JOBS, most // 10) > most:
            await _begin(db)
            await db.execute(quotas.one_at_a_time(tenant, "queued_jobs"))
            mine = (await db.execute(counts.queued_of(tenant))).scalar_one()
        if mine + count > most:
            detail = f"The tenant has {mine} queued jobs; {most} are allowed."
            raise QuotaExceeded(detail, retry_after=10, quota="queued_jobs", limit=most)
        if await self._everyone.now("") + count > self._queued_in_all:
            raise Overloaded("Too many jobs are queued here; try again later.", retry_after=10)
        await self.admit_bytes(tenant, 0)  # a job keeps its input and its result
        self._queued.add(tenant, count)
        self._everyone.add("", count)

    async def admit_tokens(self, tenant: str) -> None:
        """Raise QuotaExceeded when the tenant's model tokens of today (UTC) are spent."""
        most = (await self.limits(tenant))["tokens_per_day"]
        if not most:
            return
        spent = await self._tokens.now(tenant)
        if spent >= most:
            tomorrow = _midnight() + timedelta(days=1)
            raise QuotaExceeded(
                f"The tenant has used {spent} of its {most} model tokens today.",
                retry_after=int((tomorrow - datetime.now(UTC)).total_seconds()) + 1,
                quota="tokens_per_day",
                limit=most,
            )

    async def admit_bytes(self, tenant: str, count: int) -> None:
        """Raise QuotaExceeded when the tenant would store more bytes than it may."""
        most, stored = (await self.limits(tenant))["storage_bytes"], await self._stored.now(tenant)
        if stored + count > most:
            raise _full(stored, most)

    async def reserve_bytes(self, db: AsyncConnection, tenant: str, count: int) -> None:
        """Admit bytes that this transaction adds, whatever others add at the same moment.

        What uploads that were begun will add counts as stored. Raises: QuotaExceeded.
        """
        await db.execute(quotas.one_at_a_time(tenant, "storage_bytes"))
        row = (await db.execute(quotas.storage(tenant, self._defaults["storage_bytes"]))).mappings().one()
        begun = (await db.execute(uploads.expected_bytes(tenant))).scalar_one()
        if row["stored"] + int(begun) + count > row["most"]:
            raise _full(row["stored"] + int(begun), row["most"])

    def stored(self, tenant: str, count: int) -> None:
        """Count an added file."""
        self._stored.add(tenant, count)

    async def view(self, tenant: str, used: Callable[[Executable], Awaitable[Mapping[str, int]]]) -> TenantLimits:
        """Return all quotas with their use; ``used`` executes a statement that gives one row."""
        own = await self._set_for(tenant)
        used_now = await used(quotas.usage(tenant, _midnight()))
        return TenantLimits(
            tenant=tenant,
            quotas={
                name: Quota(
                    limit=_limit(name, own.get(name, default)),
                    used=used_now.get(name),
                    own=own.get(name),
                    default=_limit(name, default),
                )
                for name, default in self._defaults.items()
                if name in quotas.QUOTAS
            },
            weight=own.get("weight", self._defaults["weight"]),
        )


def _limit(name: str, value: int) -> int | None:
    """Return the limit, None where 0 stands for none."""
    return None if value == 0 and name in _ZERO_IS_NONE else value


async def _begin(db: AsyncConnection) -> None:
    """Begin a transaction, unless one is open: usually a submit is one statement. The connection's end commits it."""
    driver: Any = (await db.get_raw_connection()).driver_connection
    if driver.info.transaction_status.name == "IDLE":
        await db.exec_driver_sql("BEGIN")


def _full(stored: int, most: int) -> QuotaExceeded:
    detail = f"The tenant stores {stored:,} of {most:,} bytes; delete files and jobs that are not needed."
    return QuotaExceeded(detail, retry_after=60, quota="storage_bytes", limit=most)


def _midnight() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
