"""Warm slots, ready before anyone asks; used once, refilled behind the taker's back, replaced when they grow old."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from services.execution.sandbox.host.container import Slot
from shared.errors import SandboxUnavailable

_KEEP_HOUSE_EVERY = 5.0
_MOST_USED = 6  #: used slots that may wait for a quiet moment
_HUSH = 0.05  #: seconds that the work of the house waits for a run that may be short
_QUIET = 0.1  #: seconds without a run before a slot rehearses: under load the processors have better to do


class Pool:
    """``make`` makes one slot of a language; it raises SandboxUnavailable, and is asked again a little later."""

    def __init__(self, make: Callable[[str], Slot], wanted: Mapping[str, int], max_age: float) -> None:
        self._make = make
        self._wanted = dict(wanted)
        self._max_age = max_age
        self._ready: dict[str, deque[Slot]] = {language: deque() for language in wanted}
        self._changed = threading.Condition()
        self._used: deque[Slot] = deque()
        self._rehearsing: Slot | None = None
        self._running = 0
        self._quiet_from = 0.0
        self._hushed_until: float | None = None  #: set by the first slot taken from a full pool
        self._closed = False
        self._stirred = False

    def take(self, language: str) -> Slot:
        """A ready slot, or a new one when none is left. Raises: SandboxUnavailable."""
        while True:
            with self._changed:
                if self._closed:
                    raise SandboxUnavailable("The sandbox is shutting down.")
                slot = self._best(language)
                self._hushed_until = self._hushed_until or time.monotonic() + _HUSH
                self._changed.notify_all()
            if slot is None:
                return self._make(language)
            if slot.alive and time.monotonic() - slot.born < 2 * self._max_age:
                return slot
            slot.close()

    def _best(self, language: str) -> Slot | None:
        ready = self._ready.get(language)
        if not ready:
            return None
        slot = next((each for each in ready if each.rehearsed), ready[0])
        ready.remove(slot)
        return slot

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While a run lasts, the keeper leaves the processors to it, for a moment."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._quiet_from = time.monotonic() + _QUIET
                self._changed.notify_all()

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
            failing = False
            try:
                if self._tidy_up():
                    continue
            except SandboxUnavailable:
                failing = True
            with self._changed:
                # One that cannot be made now is tried again later, not in a circle.
                patience = _KEEP_HOUSE_EVERY if failing else self._patience()
                self._changed.wait_for(self._is_closed if failing else self._called_for, patience)

    def _tidy_up(self) -> bool:
        """Do one thing that is to be done; whether there was one. Raises: SandboxUnavailable."""
        if len(self._used) > _MOST_USED and self._clear_one():
            return True
        if self._replace_one():
            return True
        if not self._may_work():
            return False
        return self._refill_one() or self._clear_one() or (self._is_quiet() and self._rehearse_one())

    def _may_work(self) -> bool:
        """No run is to be disturbed, or it has been spared for long enough."""
        return not self._running or self._hushed_until is None or time.monotonic() >= self._hushed_until

    def _is_quiet(self) -> bool:
        return not self._running and time.monotonic() >= self._quiet_from

    def _patience(self) -> float:
        """Seconds until there may be something to do without anyone saying so."""
        now = time.monotonic()
        times = [self._hushed_until, None if self._running else self._quiet_from]
        return min([_KEEP_HOUSE_EVERY, *(each - now for each in times if each is not None and each > now)])

    def _lacking(self) -> str | None:
        away = self._rehearsing.spec.name if self._rehearsing is not None else None
        for language, ready in self._ready.items():
            if len(ready) + (language == away) < self._wanted[language]:
                return language
        return None

    def _unrehearsed(self) -> Slot | None:
        return next((slot for ready in self._ready.values() for slot in ready if not slot.rehearsed), None)

    def _is_closed(self) -> bool:
        return self._closed

    def _called_for(self) -> bool:
        stirred, self._stirred = self._stirred, False
        if self._closed or stirred or len(self._used) > _MOST_USED:
            return True
        if not self._may_work():
            return False
        return bool(self._used) or self._lacking() is not None or (self._is_quiet() and bool(self._unrehearsed()))

    def _refill_one(self) -> bool:
        language = self._lacking()
        if language is None:
            self._hushed_until = None
            return False
        slot = self._make(language)
        return self._put(slot)

    def _put(self, slot: Slot) -> bool:
        with self._changed:
            self._rehearsing = None
            if not self._closed:
                self._ready[slot.spec.name].append(slot)
                self._changed.notify_all()
                return True
        slot.close()
        return False

    def _rehearse_one(self) -> bool:
        with self._changed:
            slot = self._rehearsing = self._unrehearsed()
            if slot is None:
                return False
            self._ready[slot.spec.name].remove(slot)
        slot.rehearse()
        if slot.rehearsed:
            return self._put(slot)
        with self._changed:
            self._rehearsing = None  # it broke, or is stuck: another takes its place
        slot.close()
        return True

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
        """Whether every slot is ready and rehearsed within this time."""

        def full() -> bool:
            return self._lacking() is None and self._rehearsing is None and self._unrehearsed() is None

        with self._changed:
            return self._changed.wait_for(full, seconds)

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
