"""An end for the work of a library that has none of its own: some texts cost it the square of their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class TooMuchWork(Exception):
    """The call was ended."""


def bounded(call: Callable[[], T], most: int) -> T:
    """The answer of a call that enters and leaves functions at most so often, on whatever machine.

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
