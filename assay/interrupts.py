"""Ctrl-C, raised until a handler gets it: Python ignores a `KeyboardInterrupt` that is raised inside a finalizer."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

#: Between two raises of one interrupt, in seconds.
_AGAIN_SECONDS = 0.2


def repeat() -> None:
    """Raise `KeyboardInterrupt` again and again from the next interrupt on, until it is handled."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGINT, _interrupt)
        signal.signal(signal.SIGALRM, _interrupt)


def is_handled() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
    raise KeyboardInterrupt
