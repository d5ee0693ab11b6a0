"""How long one callback holds the event loop of a gateway that runs in a thread of this process.

In processor time of the thread, which other work on the machine does not lengthen. The loop answers no one meanwhile.
Garbage is collected between two measurements: the heap of a test run is not that of a gateway.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass
class Holds:
    """The longest hold so far, in milliseconds."""

    longest: float = 0.0

    def taken(self) -> float:
        """Return the longest hold since the last call."""
        gc.collect()  # by the caller's thread
        longest, self.longest = self.longest, 0.0
        return longest


@contextmanager
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Holds]:
    """Measure the loops of all threads but those that begin within the block."""
    threads, holds, run = {thread.ident for thread in threading.enumerate()}, Holds(), asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        if threading.get_ident() in threads:
            holds.longest = max(holds.longest, (time.thread_time() - began) * 1e3)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", timed)
        gc.disable()
        try:
            yield holds
        finally:
            gc.enable()
