"""The event loop of code that awaits at its top: one for the kernel's life, so that tasks continue in the next call."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Coroutine
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_CANCEL_SECONDS = 1.0
_loops: list[asyncio.AbstractEventLoop] = []  #: the loop of the last call that awaited, if any did


def finished(work: Coroutine[object, object, object]) -> object:
    """Run the coroutine to its end and return its value. Raises: what it raises."""
    import asyncio

    loop = _current()
    asyncio.set_event_loop(loop)
    _loops[:] = [loop]
    task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    finally:
        if not task.done() and not loop.is_closed() and not loop.is_running():  # it was interrupted
            task.cancel()
            with contextlib.suppress(Exception):
                loop.run_until_complete(asyncio.wait([task], timeout=_CANCEL_SECONDS))


def _current() -> asyncio.AbstractEventLoop:
    """Return the loop that the code has set, if it is open; else the one of the last call, or a new one."""
    import asyncio

    with contextlib.suppress(RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        loop = asyncio.get_event_loop()
        if not loop.is_closed():
            return loop
    return _loops[0] if _loops and not _loops[0].is_closed() else asyncio.new_event_loop()


def has_pending_tasks() -> bool:
    """Return whether a task of an earlier call continues when the next one awaits."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and any(asyncio.all_tasks(loop) for loop in _loops)
