"""A bound on the work of library calls that have no limit: some texts cost them quadratic time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class TooMuchWork(Exception):
    """The call was ended."""


def bounded(call: Callable[[], T], most: int) -> T:
    """Return the result of a call that enters and leaves at most ``most`` functions, independent of the machine's
    speed.

    Raises: TooMuchWork, and what the call raises.
    """
    events = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal events
        events += 1
        if events > most:
            raise TooMuchWork

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return call()
    finally:
        sys.setprofile(before)
