"""A job that may kill its worker runs alone, so that no other is blamed; all others run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Event

#: How often a waiting suspect checks whether it was cancelled.
POLL_SECONDS = 0.5


class SuspectLock:
    """A lock that jobs hold together (``shared``), and a suspect by itself (``exclusive``)."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._holders = 0
        self.suspects = 0  #: waiting for the others to end, and then one after the other
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it with others; wait while a suspect waits or runs: else a busy worker would never be free for it."""
        with self._changed:
            self._changed.wait_for(lambda: not self.suspects)
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self, cancelled: Event) -> Iterator[bool]:
        """Inside ``shared``: continue when no other job runs; False when the job was cancelled before that."""
        with self._changed:
            self._holders -= 1
            self.suspects += 1
            self._changed.notify_all()
            while not (free := not self._holders and not self._alone) and not cancelled.is_set():
                self._changed.wait(POLL_SECONDS)
            self._alone = self._alone or free
        try:
            yield free
        finally:
            with self._changed:
                self._alone = self._alone and not free
                self.suspects -= 1
                self._holders += 1
                self._changed.notify_all()
