"""Memory of a tree of processes, as PSS: a page that n processes share counts as 1/n of a page in each.

Only root may read the processes of another user; one that cannot be read ends the measurement with an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Return every living process below this one, by parentage alone."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended meanwhile
    below, more = set[int](), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more}
        below |= more
    return below


def pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except ProcessLookupError:  # it has ended, and only waits to be counted as dead
        return 0.0
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024


def memory_of(supervisor: int) -> dict[str, float]:
    """Return megabytes of PSS by the name of the process, the most first."""
    taken: defaultdict[str, float] = defaultdict(float)
    for pid in [supervisor, *descendants(supervisor)]:
        with suppress(OSError):
            taken[_name(pid)] += pss_mb(pid)
    return dict(sorted(taken.items(), key=lambda each: -each[1]))


def _name(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "ended"
    if "zygote" in command:
        return "Python in sandboxes"
    if service := re.search(r" -m services\.([\w.]+)", command):
        return service[1]
    return next((word for word in ("postgres", "redis", "bin/exec/R", "node") if word in command), "other")
