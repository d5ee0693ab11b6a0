"""How often this process looks for unreachable objects."""

from __future__ import annotations

import gc

#: What jobs as such leave behind (50 objects each, in circles) is looked for once there may be this much of it.
_BETWEEN_JOBS = 20_000
#: Collect after this many new objects: a tree of 10,000 files makes fewer, and leaves no reference cycles.
_NEW_OBJECTS = 200_000


def collect_rarely() -> None:
    """Freeze the loaded objects and collect rarely; call it once, after the rules and language tables are loaded.

    With Python's own threshold a fifth of the time of a large detection was spent in the garbage collector.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 10, 10)


def collect_between_jobs() -> None:
    """Call it after each job: small ones would gather 45 MB until there are as many objects as a large one makes."""
    if gc.get_count()[0] > _BETWEEN_JOBS:
        gc.collect(1)
