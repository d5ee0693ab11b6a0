"""Warm containers, ready before they are needed: each is used once, and a thread refills and replaces them.

Those of an on-demand language are ready from its first use on, until it was unused for ``max_age``.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from services.execution.sandbox.host.container import Container
from shared.errors import SandboxUnavailable

_CHECK_EVERY = 5.0
_MAX_USED = 6  #: used containers that may wait for a quiet moment
_DEFER = 0.05  #: seconds that upkeep waits for a run that may be short
_QUIET = 0.1  #: seconds without a run before a container is prewarmed: under load the processors have better to do


@dataclass(frozen=True)
class PoolFill:
    """How full a pool is: per language those ready and those wanted, and the runs of all languages."""

    languages: Mapping[str, tuple[int, int]]
    running: int


class Pool:
    """``make`` creates one container of a language; it raises SandboxUnavailable, and is called again a little
    later.
    """

    def __init__(
        self,
        make: Callable[[str], Container],
        wanted: Mapping[str, int],
        max_age: float,
        on_demand: Collection[str] = (),
    ) -> None:
        self._make = make
        self._wanted = dict(wanted)
        self._max_age = max_age
        self._asked: dict[str, float] = dict.fromkeys(on_demand, -math.inf)  #: the last use of each
        self._ready: dict[str, deque[Container]] = {language: deque() for language in wanted}
        self._changed = threading.Condition()
        self._used: deque[Container] = deque()
        self._prewarming: Container | None = None
        self._running = 0
        self._quiet_from = 0.0
        self._deferred_until: float | None = None  #: set by the first container taken from a full pool
        self._closed = False
        self._woken = False

    @property
    def fill(self) -> PoolFill:
        with self._changed:
            counts = {language: (len(ready), self._wanted_now(language)) for language, ready in self._ready.items()}
            return PoolFill(counts, self._running)

    def take(self, language: str) -> Container:
        """Return a ready container, or a new one when none is left. Raises: SandboxUnavailable."""
        while True:
            with self._changed:
                if self._closed:
                    raise SandboxUnavailable("The sandbox is shutting down.")
                container = self._best(language)
                if language in self._asked:
                    self._asked[language] = time.monotonic()
                self._deferred_until = self._deferred_until or time.monotonic() + _DEFER
                self._changed.notify_all()
            if container is None:
                return self._make(language)
            if container.alive and time.monotonic() - container.created_at < 2 * self._max_age:
                return container
            container.close()

    def _best(self, language: str) -> Container | None:
        ready = self._ready.get(language)
        if not ready:
            return None
        container = next((each for each in ready if each.prewarmed), ready[0])
        ready.remove(container)
        return container

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Leave the processors to a run while it lasts, by deferring upkeep for a moment."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._quiet_from = time.monotonic() + _QUIET
                self._changed.notify_all()

    def retire(self, container: Container) -> None:
        """Kill a used container; the upkeep thread removes it later."""
        container.kill()
        with self._changed:
            if not self._closed:
                self._used.append(container)
                self._changed.notify_all()
                return
        container.close()

    def _clear_one(self) -> bool:
        with self._changed:
            container = self._used.popleft() if self._used else None
        if container is not None:
            container.close()
        return container is not None

    def wake(self) -> None:
        """Something broke: look after it now."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def keep(self, useful: Callable[[], bool]) -> None:
        """Refill and replace until closed, or until it is no longer useful; runs in its own thread."""
        while not self._closed and useful():
            failing = False
            try:
                if self._do_next():
                    continue
            except SandboxUnavailable:
                if not useful():
                    return
                failing = True
            with self._changed:
                # One that cannot be made now is tried again later, not in a circle.
                timeout = _CHECK_EVERY if failing else self._timeout()
                self._changed.wait_for(self._is_closed if failing else self._has_work, timeout)

    def _do_next(self) -> bool:
        """Do one thing that is to be done; whether there was one. Raises: SandboxUnavailable."""
        if len(self._used) > _MAX_USED and self._clear_one():
            return True
        if self._replace_one():
            return True
        if not self._may_work():
            return False
        return self._refill_one() or self._clear_one() or (self._is_quiet() and self._prewarm_one())

    def _may_work(self) -> bool:
        """Return whether no run would be disturbed, or upkeep was deferred for long enough."""
        return not self._running or self._deferred_until is None or time.monotonic() >= self._deferred_until

    def _is_quiet(self) -> bool:
        return not self._running and time.monotonic() >= self._quiet_from

    def _timeout(self) -> float:
        """Return the seconds until there may be something to do without a notification."""
        now = time.monotonic()
        times = [self._deferred_until, None if self._running else self._quiet_from]
        return min([_CHECK_EVERY, *(each - now for each in times if each is not None and each > now)])

    def _wanted_now(self, language: str) -> int:
        asked = self._asked.get(language)
        return self._wanted[language] if asked is None or time.monotonic() - asked <= self._max_age else 0

    def _lacking(self) -> str | None:
        away = self._prewarming.spec.name if self._prewarming is not None else None
        for language, ready in self._ready.items():
            if len(ready) + (language == away) < self._wanted_now(language):
                return language
        return None

    def _cold(self) -> Container | None:
        """Return the container to prewarm: one of a language that has none prewarmed, for each holds 11 MB more."""
        return next(
            (ready[0] for ready in self._ready.values() if ready and not any(each.prewarmed for each in ready)), None
        )

    def _is_closed(self) -> bool:
        return self._closed

    def _has_work(self) -> bool:
        woken, self._woken = self._woken, False
        if self._closed or woken or len(self._used) > _MAX_USED:
            return True
        if not self._may_work():
            return False
        return bool(self._used) or self._lacking() is not None or (self._is_quiet() and bool(self._cold()))

    def _refill_one(self) -> bool:
        language = self._lacking()
        if language is None:
            self._deferred_until = None
            return False
        container = self._make(language)
        return self._put(container)

    def _put(self, container: Container) -> bool:
        with self._changed:
            self._prewarming = None
            if not self._closed:
                self._ready[container.spec.name].append(container)
                self._changed.notify_all()
                return True
        container.close()
        return False

    def _prewarm_one(self) -> bool:
        with self._changed:
            container = self._prewarming = self._cold()
            if container is None:
                return False
            self._ready[container.spec.name].remove(container)
        container.prewarm()
        if container.prewarmed:
            return self._put(container)
        with self._changed:
            self._prewarming = None  # it broke, or is stuck: another takes its place
        container.close()
        return True

    def _replace_one(self) -> bool:
        with self._changed:
            for ready in self._ready.values():
                if ready and (not ready[0].alive or time.monotonic() - ready[0].created_at > self._max_age):
                    old = ready.popleft()
                    break
            else:
                return False
        old.close()
        return True

    def wait_full(self, seconds: float) -> bool:
        """Return whether every container is ready, and one of each language prewarmed, within this time."""

        def full() -> bool:
            return self._lacking() is None and self._prewarming is None and self._cold() is None

        with self._changed:
            return self._changed.wait_for(full, seconds)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            containers = [container for containers in (*self._ready.values(), self._used) for container in containers]
            self._used.clear()
            for ready in self._ready.values():
                ready.clear()
        for container in containers:
            with contextlib.suppress(OSError):
                container.close()
