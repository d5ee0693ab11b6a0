"""Places at the record: how many of a gateway's connections one tenant may hold, so that others find one free."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shared.errors import DatabaseUnavailable, TooManyRequests

#: Of all tenants: for what is nobody's request, and for administrators.
EVERYONE = "*"
UNAVAILABLE = "Postgres does not answer; nothing was written. Try again shortly."
_LOOK_SECONDS = 0.1
_PATIENT_SECONDS = 0.1
_MOST_SECONDS = 10.0
#: After the last change of the tenant, how long several count as served.
_SEVERAL_SECONDS = 1.0


class _Tenant:
    """How many places it holds, and what waits for one."""

    def __init__(self) -> None:
        self.held = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Places:
    """``alone`` places for a tenant while no other is served, else ``beside``.

    Where statements are slow that would be too few for whoever sends no more than its share: a request that has waited
    for a moment goes on, as long as its tenant holds less than ``most``. ``gives_up`` says, of the seconds that a
    request has waited, whether Postgres counts as away.
    """

    def __init__(
        self,
        alone: int,
        beside: int,
        most: int,
        gives_up: Callable[[float], bool],
        several_seconds: float = _SEVERAL_SECONDS,
    ) -> None:
        self._several_seconds = several_seconds
        self._alone = alone
        self._beside = beside
        self._most = most
        self._gives_up = gives_up
        self._tenants: WeakValueDictionary[str, _Tenant] = WeakValueDictionary()
        self._last = ""
        self._several_until = 0.0

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Hold one of the tenant's places. Raises: DatabaseUnavailable, TooManyRequests."""
        if name == EVERYONE:
            yield
            return
        tenant = self._tenants.setdefault(name, _Tenant())
        if name != self._last:
            self._last, self._several_until = name, time.monotonic() + self._several_seconds
        if tenant.waiting or tenant.held >= self._now():
            await self._wait(tenant)
        else:
            tenant.held += 1
        try:
            yield
        finally:
            tenant.held -= 1
            self._grant(tenant)

    def _now(self) -> int:
        return self._beside if time.monotonic() < self._several_until else self._alone

    def _grant(self, tenant: _Tenant) -> None:
        while tenant.waiting and tenant.held < self._now():
            place = tenant.waiting.popleft()
            if not place.done():
                tenant.held += 1
                place.set_result(None)

    async def _wait(self, tenant: _Tenant) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tenant.waiting.append(place)
        waited = 0.0
        try:
            while not place.done():
                await asyncio.wait({place}, timeout=_LOOK_SECONDS)
                waited += _LOOK_SECONDS
                if waited >= _PATIENT_SECONDS and tenant.held < self._most and place.cancel():
                    tenant.held += 1
                    return
                if not place.done() and self._gives_up(waited):
                    raise DatabaseUnavailable(UNAVAILABLE)
                if not place.done() and waited > _MOST_SECONDS:
                    detail = f"The tenant has {tenant.held} requests at the database already; send fewer at once."
                    raise TooManyRequests(detail, retry_after=1)
        except BaseException:
            if not place.cancel():  # in this very moment it was given
                tenant.held -= 1
                self._grant(tenant)
            raise
