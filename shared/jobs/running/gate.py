"""Jobs of one worker run side by side, but one that may kill the worker runs alone, so that no other is blamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Event

#: How often a suspect that waits looks whether it was cancelled.
_LOOK_SECONDS = 0.5


class Gate:
    """Threads pass ``beside`` each other, or ``alone``."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._beside = 0
        self.suspects = 0  #: waiting for the others to end, and then one after the other
        self._alone = False

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Wait while a suspect waits or runs: else a busy worker would never be free for it."""
        with self._changed:
            self._changed.wait_for(lambda: not self.suspects)
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, cancelled: Event) -> Iterator[bool]:
        """Inside ``beside``: go on when no other job runs; False when the job was cancelled before that."""
        with self._changed:
            self._beside -= 1
            self.suspects += 1
            self._changed.notify_all()
            while not (free := not self._beside and not self._alone) and not cancelled.is_set():
                self._changed.wait(_LOOK_SECONDS)
            self._alone = self._alone or free
        try:
            yield free
        finally:
            with self._changed:
                self._alone = self._alone and not free
                self.suspects -= 1
                self._beside += 1
                self._changed.notify_all()
