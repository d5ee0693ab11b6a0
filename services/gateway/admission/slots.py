"""Slots of a limited resource of this process: each tenant has a share, so that the others find a slot free."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shared.errors import AssayError, TooManyRequests

#: Requests of one tenant that may wait for one resource; the next one is refused.
MAX_WAITING = 1_000
_CHECK_SECONDS = 0.1
#: After the last change of the tenant, how long several tenants count as served.
SEVERAL_SECONDS = 1.0


class Share:
    """One tenant's slots: how many it holds, and which requests wait for one."""

    __slots__ = ("__weakref__", "held", "waiting", "weight")

    def __init__(self) -> None:
        self.weight = 1
        self.held = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Slots:
    """``limit`` slots for a tenant of weight 1; ``alone`` while no other tenant is served.

    Requests above the limit wait, the oldest first, for at most ``seconds``. Where work is slow, a limit for the usual
    case delays a tenant that sends no more than its share: a request that has waited for a moment continues while its
    tenant holds fewer than ``patient`` slots, which is also the most that a weight gives.
    ``check`` is called with the seconds waited, and may raise.
    """

    def __init__(
        self,
        resource: str,
        limit: int,
        *,
        alone: int | None = None,
        patient: int = 0,
        seconds: float | None = None,
        refusal: Callable[[], AssayError] | None = None,
        check: Callable[[float], None] = lambda waited: None,
        several_seconds: float = SEVERAL_SECONDS,
    ) -> None:
        self._resource = resource
        self._limit = limit
        self._alone = limit if alone is None else alone
        self._patient = patient
        self._seconds = seconds
        self._refusal = refusal
        self._check = check
        self._several_seconds = several_seconds
        self._shares: WeakValueDictionary[str, Share] = WeakValueDictionary()
        self._last: Share | None = None
        self._several_until = 0.0

    def of(self, tenant: str) -> Share:
        """Return the tenant's share, which lives as long as a request refers to it."""
        share = self._shares.get(tenant)
        if share is None:
            share = self._shares[tenant] = Share()
        return share

    def contended(self, share: Share) -> bool:
        """Note that the tenant is served; return whether another one was within the last second."""
        now = time.monotonic()
        if share is not self._last:
            self._last, self._several_until = share, now + self._several_seconds
        return now < self._several_until

    @asynccontextmanager
    async def hold(self, tenant: str, weight: int = 1) -> AsyncIterator[None]:
        """Hold one of the tenant's slots. Raises: TooManyRequests or the refusal; what ``check`` raises."""
        share = self.of(tenant)
        share.weight = weight
        self.contended(share)
        if not self.take(share, self._now(share)):
            await self._wait(share)
        try:
            yield
        finally:
            self.free(share)

    def take(self, share: Share, limit: int) -> bool:
        """Take a slot if the tenant holds fewer than ``limit`` and none of its requests waits."""
        if share.waiting or share.held >= limit:
            return False
        share.held += 1
        return True

    def free(self, share: Share) -> None:
        """Return a slot, to the tenant's next request where one waits."""
        share.held -= 1
        while share.waiting and share.held < self._now(share):
            share.held += self.hand_on(share)

    def queue(self, share: Share) -> asyncio.Future[None]:
        """Let a request wait; the future is done when the slot is its own."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        share.waiting.append(slot)
        return slot

    def leave(self, share: Share, slot: asyncio.Future[None]) -> None:
        """Give up waiting; a slot that was given at this moment is free again."""
        if slot.done() and not slot.cancelled():
            self.free(share)
        else:
            slot.cancel()
            if slot in share.waiting:
                share.waiting.remove(slot)

    def hand_on(self, share: Share) -> bool:
        """Give a slot that stays held to the tenant's next request; return whether one waited."""
        while share.waiting:
            slot = share.waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return True
        return False

    def _now(self, share: Share) -> int:
        if time.monotonic() >= self._several_until:
            return self._alone
        return self._limit if share.weight == 1 else max(self._limit, min(self._limit * share.weight, self._patient))

    async def _wait(self, share: Share) -> None:
        if len(share.waiting) >= MAX_WAITING:
            raise self._refused(share)
        slot, waited = self.queue(share), 0.0
        try:
            while not slot.done():
                await asyncio.wait({slot}, timeout=_CHECK_SECONDS)
                if slot.done():
                    return
                waited += _CHECK_SECONDS  # on a busy machine it was longer, as it is for the resource
                if share.held < self._patient:
                    share.waiting.remove(slot)
                    share.held += 1
                    return
                self._check(waited)
                if self._seconds is not None and waited > self._seconds:
                    raise self._refused(share)
        except BaseException:
            self.leave(share, slot)
            raise

    def _refused(self, share: Share) -> AssayError:
        if self._refusal is not None:
            return self._refusal()
        detail = f"The tenant has {share.held} requests at the {self._resource} already; send fewer at once."
        return TooManyRequests(detail, retry_after=1)
