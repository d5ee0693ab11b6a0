"""Word of a child's end: by a descriptor of the process, or by signals on a kernel that has none."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable


class ChildWatch:
    """Its descriptor becomes readable when the child may have ended."""

    def __init__(self, child: int) -> None:
        self._signals: int | None = None
        try:
            self._descriptor = os.pidfd_open(child)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
            self._descriptor = self._signals = _heard_signals()

    def fileno(self) -> int:
        return self._descriptor

    def ended(self, reap: Callable[[], None], known: Callable[[], bool]) -> bool:
        """Return whether the child has ended; signals come for any child, so ended ones are reaped first."""
        if self._signals is None:
            return True
        with contextlib.suppress(BlockingIOError):
            os.read(self._signals, 4096)
        reap()
        return known()


def _heard_signals() -> int:
    source, target = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(target, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    os.write(target, b"\0")  # it may have ended before the handler was set
    return source
