"""Warm slots, ready before anyone asks; used once, refilled behind the taker's back, replaced when they grow old."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from services.execution.sandbox.slot import Slot
from shared.errors import SandboxUnavailable

_KEEP_HOUSE_EVERY = 5.0
_MOST_USED = 6  #: used slots that may wait for a quiet moment


class Pool:
    """``make`` makes one slot of a language; it raises SandboxUnavailable, and is asked again a little later."""

    def __init__(self, make: Callable[[str], Slot], wanted: Mapping[str, int], max_age: float) -> None:
        self._make = make
        self._wanted = dict(wanted)
        self._max_age = max_age
        self._ready: dict[str, deque[Slot]] = {language: deque() for language in wanted}
        self._changed = threading.Condition()
        self._used: deque[Slot] = deque()
        self._closed = False
        self._stirred = False

    def take(self, language: str) -> Slot:
        """A ready slot, or a new one when none is left. Raises: SandboxUnavailable."""
        while True:
            with self._changed:
                if self._closed:
                    raise SandboxUnavailable("The sandbox is shutting down.")
                ready = self._ready.get(language)
                slot = ready.popleft() if ready else None
                self._changed.notify_all()
            if slot is None:
                return self._make(language)
            if slot.alive and time.monotonic() - slot.born < 2 * self._max_age:
                return slot
            slot.close()

    def retire(self, slot: Slot) -> None:
        """A used slot is cleared away by the keeper; nothing of it runs any more when this returns."""
        slot.kill()
        with self._changed:
            if not self._closed:
                self._used.append(slot)
                self._changed.notify_all()
                return
        slot.close()

    def _clear_one(self) -> bool:
        with self._changed:
            slot = self._used.popleft() if self._used else None
        if slot is not None:
            slot.close()
        return slot is not None

    def wake(self) -> None:
        """Something broke: look after it now."""
        with self._changed:
            self._stirred = True
            self._changed.notify_all()

    def keep(self, useful: Callable[[], bool]) -> None:
        """Refill and replace until closed, or until it is of no use any more; runs in a thread of its own."""
        while not self._closed and useful():
            try:
                crowded = len(self._used) > _MOST_USED
                if (crowded and self._clear_one()) or self._replace_one() or self._refill_one() or self._clear_one():
                    continue
                failing = False
            except SandboxUnavailable:
                failing = True
            with self._changed:
                # One that cannot be made now is tried again later, not in a circle.
                self._changed.wait_for(self._called_for if not failing else self._is_closed, _KEEP_HOUSE_EVERY)

    def _lacking(self) -> str | None:
        return next((each for each, ready in self._ready.items() if len(ready) < self._wanted[each]), None)

    def _is_closed(self) -> bool:
        return self._closed

    def _called_for(self) -> bool:
        stirred, self._stirred = self._stirred, False
        return self._closed or stirred or bool(self._used) or self._lacking() is not None

    def _refill_one(self) -> bool:
        language = self._lacking()
        if language is None:
            return False
        slot = self._make(language)
        with self._changed:
            if not self._closed:
                self._ready[language].append(slot)
                self._changed.notify_all()
                return True
        slot.close()
        return False

    def _replace_one(self) -> bool:
        with self._changed:
            for ready in self._ready.values():
                if ready and (not ready[0].alive or time.monotonic() - ready[0].born > self._max_age):
                    old = ready.popleft()
                    break
            else:
                return False
        old.close()
        return True

    def wait_full(self, seconds: float) -> bool:
        """Whether every slot is ready within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._lacking() is None, seconds)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            slots = [slot for slots in (*self._ready.values(), self._used) for slot in slots]
            self._used.clear()
            for ready in self._ready.values():
                ready.clear()
        for slot in slots:
            with contextlib.suppress(OSError):
                slot.close()
