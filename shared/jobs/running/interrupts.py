"""Interrupts the computation of a job that is over, so that its slot is free for another job.

A capability that waits checks for cancellation; one that computes may never check. Python lets one thread raise
an exception in another, between two of its instructions. What a library computes without returning to the interpreter
cannot be interrupted: then the whole process has to be replaced (``Worker``).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from shared.errors import JobCancelled

Result = TypeVar("Result")

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class JobInterrupted(BaseException):
    """Raised in the thread of a job that is over but still runs; handlers of ordinary errors do not catch it."""


class Interruptible:
    """One computation, which another thread may interrupt once; never anything that follows it in its thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._interrupted = False

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work in this thread. Raises: JobCancelled when it was interrupted, and what it raises."""
        try:
            with self._lock:
                self._thread = threading.get_ident()
            try:
                return work()
            finally:
                self._settle()
        except JobInterrupted:
            self._settle()
            raise JobCancelled("it was over and did not stop") from None

    def interrupt(self) -> bool:
        """Raise in its thread; False when it has ended, or was interrupted before."""
        with self._lock:
            if self._thread is None or self._interrupted:
                return False
            self._interrupted = True
            _raise_in(self._thread, ctypes.py_object(JobInterrupted))
            return True

    def _settle(self) -> None:
        """Stop interrupting; a requested exception that was not raised yet is withdrawn."""
        with self._lock:
            if self._thread is not None and self._interrupted:
                _raise_in(self._thread, ctypes.py_object())  # NULL: nothing
            self._thread = None
