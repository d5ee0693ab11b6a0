"""Places at the record: how many of a gateway's connections one tenant may hold, so that others find one free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shared.errors import DatabaseUnavailable, TooManyRequests

#: Of all tenants: for what is nobody's request, and for administrators.
EVERYONE = "*"
UNAVAILABLE = "Postgres does not answer; nothing was written. Try again shortly."
_LOOK_SECONDS = 0.1
_MOST_SECONDS = 10.0


class Places:
    """``gives_up`` says, of the seconds that a request has waited, whether Postgres counts as away."""

    def __init__(self, most: int, gives_up: Callable[[float], bool]) -> None:
        self._most = most
        self._gives_up = gives_up
        self._places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: str) -> AsyncIterator[None]:
        """Hold one of the tenant's places. Raises: DatabaseUnavailable, TooManyRequests."""
        if tenant == EVERYONE:
            yield
            return
        places = self._places.setdefault(tenant, asyncio.Semaphore(self._most))
        if places.locked():
            await self._wait(places)
        else:
            await places.acquire()
        try:
            yield
        finally:
            places.release()

    async def _wait(self, places: asyncio.Semaphore) -> None:
        attempt = asyncio.ensure_future(places.acquire())
        waited = 0.0
        try:
            while not attempt.done():
                await asyncio.wait({attempt}, timeout=_LOOK_SECONDS)
                waited += _LOOK_SECONDS
                if not attempt.done() and self._gives_up(waited):
                    raise DatabaseUnavailable(UNAVAILABLE)
                if not attempt.done() and waited > _MOST_SECONDS:
                    detail = f"The tenant has {self._most} requests at the database already; send fewer at once."
                    raise TooManyRequests(detail, retry_after=1)
        except BaseException:
            if not attempt.cancel():  # in this very moment it was given
                places.release()
            raise
