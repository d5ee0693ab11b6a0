"""A detection makes many small objects that all live until it ends: looking for rubbish among them only takes time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_ALLOCATIONS = 200_000
_lock = Lock()
_inside: list[tuple[int, int, int]] = []


@contextmanager
def unhurried() -> Iterator[None]:
    """The collector looks less often while any thread is inside; what was set before holds again after the last."""
    with _lock:
        before = gc.get_threshold()
        if not _inside and 0 < before[0] < _ALLOCATIONS:
            gc.set_threshold(_ALLOCATIONS, *before[1:])
        _inside.append(before)
    try:
        yield
    finally:
        with _lock:
            first = _inside[0]
            _inside.pop()
            if not _inside:
                gc.set_threshold(*first)
