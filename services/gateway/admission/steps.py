"""Steps on the event loop: while several tenants are served, each makes one step of one of its requests in turn.

A request is a sequence of steps between which it waits. The event loop runs the steps that are ready in the order in
which they became ready: a tenant that sends many requests at once would have that many run between two of another's.
After a step that computes for long, the tenant pauses for as long: another's request waits for Postgres between its
short steps, and a long step at each of these moments would make it many times as slow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

from services.gateway.admission.slots import SEVERAL_SECONDS, Share, Slots

Result = TypeVar("Result")

#: Seconds of processor time; a step that takes longer is followed by a pause.
SHORT_SECONDS = 0.001


class Steps:
    """The steps of one event loop, of which a tenant has one slot in each iteration."""

    def __init__(self, several_seconds: float = SEVERAL_SECONDS) -> None:
        self._slots = Slots("event loop", 1, several_seconds=several_seconds)

    async def run(self, tenant: str, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the work's result, after steps that wait for a slot of the tenant."""
        return await _Stepped(self._slots, self._slots.of(tenant), work)


class _Stepped(Generic[Result]):
    """Awaits what a coroutine awaits, and takes a slot for each step."""

    def __init__(self, slots: Slots, share: Share, work: Coroutine[Any, Any, Result]) -> None:
        self._slots = slots
        self._share = share
        self._work = work

    def __await__(self) -> Generator[Any, None, Result]:
        slots, share = self._slots, self._share
        error: BaseException | None = None
        while True:
            has_slot = False
            if error is None and slots.contended(share):
                try:
                    yield from self._slot()
                    has_slot = True
                except BaseException as raised:  # the request is cancelled
                    error = raised
            began = time.thread_time()
            try:
                awaited = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                if has_slot:
                    self._return_slot(time.thread_time() - began)
            error = None
            try:
                yield awaited
            except BaseException as raised:
                error = raised

    def _return_slot(self, seconds: float) -> None:
        """Let the tenant's next step run, in the next iteration of the loop at the earliest."""
        if seconds > SHORT_SECONDS:
            asyncio.get_running_loop().call_later(seconds, self._slots.free, self._share)
        elif not self._slots.hand_on(self._share):
            asyncio.get_running_loop().call_soon(self._slots.free, self._share)

    def _slot(self) -> Generator[Any, None, None]:
        """Wait for a slot. Raises: CancelledError, and then no slot is held."""
        if self._slots.take(self._share, 1):
            return
        slot = self._slots.queue(self._share)
        try:
            yield from slot
        except BaseException:
            self._slots.leave(self._share, slot)
            raise
