"""The event loop of code that awaits at its top: one for the kernel's life, so that tasks continue in the next call."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from _asyncio import Task  # as it is before there is any code: of C, so that what it was made with and its end stay
from collections.abc import Coroutine
from typing import Any

_CANCEL_SECONDS = 1.0
_loops: list[asyncio.AbstractEventLoop] = []  #: the loop of the last call that awaited, if any did


def finished(work: Coroutine[object, object, object]) -> object:
    """Run the coroutine to its end and return its value. Raises: what it raises.

    The loop may be the code's own, and may hold what earlier calls have left; neither can say that this call returned.
    """
    loop = _current()
    asyncio.set_event_loop(loop)
    _loops[:] = [loop]
    returned: list[object] = []
    task: Any = Task(_noted(work, returned), loop=loop)
    try:
        loop.run_until_complete(task)
        Task.result(task)
        if not returned:
            raise RuntimeError("The event loop did not run the code to its end.")
        return returned[0]
    finally:
        if not Task.done(task) and not loop.is_closed() and not loop.is_running():  # it was interrupted
            Task.cancel(task)
            with contextlib.suppress(Exception):
                loop.run_until_complete(asyncio.wait([task], timeout=_CANCEL_SECONDS))


async def _noted(work: Coroutine[object, object, object], returned: list[object]) -> None:
    returned.append(await work)


def _current() -> asyncio.AbstractEventLoop:
    """Return the loop that the code has set, if it is open; else the one of the last call, or a new one."""
    with contextlib.suppress(RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        loop = asyncio.get_event_loop()
        if not loop.is_closed():
            return loop
    return _loops[0] if _loops and not _loops[0].is_closed() else asyncio.new_event_loop()


def has_pending_tasks() -> bool:
    """Return whether a task of an earlier call continues when the next one awaits."""
    return any(asyncio.all_tasks(loop) for loop in _loops)


def current_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop of the last call that awaited, if any did and it is open."""
    return _loops[0] if _loops and not _loops[0].is_closed() else None
