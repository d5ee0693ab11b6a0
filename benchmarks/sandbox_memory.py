"""Memory of an idle pool, as PSS of exactly the sandbox's own processes: ``python -m benchmarks.sandbox_memory``.

PSS counts a page that n processes share as 1/n of a page in each, so the sum over the tree is what the pool takes.
Processes of another user are only shown to root; one that cannot be read ends this with an error, not a smaller sum.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox

_FEW, _MANY = 1, 9


def descendants(pid: int) -> set[int]:
    """Every living process below this one, by parentage alone."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended meanwhile
    found, more = set[int](), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more}
        found |= more
    return found


def pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except ProcessLookupError:  # it has ended, and only waits to be counted as dead
        return 0.0
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024


def idle_pool(containers: int) -> tuple[int, dict[str, float]]:
    """Processes and MB of the tree below this process, by the name of the program, of a pool that waits for work."""
    with open_sandbox(SandboxSettings(slots=containers)) as sandbox:
        if not sandbox.wait_ready():
            raise TimeoutError("the pool did not fill")
        tree: set[int] = set()
        while tree != (tree := descendants(os.getpid())):
            time.sleep(1)  # the sandboxes that proved the walls are still being cleared away
        taken: defaultdict[str, float] = defaultdict(float)
        for pid in tree:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            taken[name] += pss_mb(pid)
        return len(tree), taken


def main() -> None:
    (fewer, few), (more, many) = idle_pool(_FEW), idle_pool(_MANY)
    further = _MANY - _FEW
    if more - fewer != 2 * further:  # each has init and its interpreter
        raise RuntimeError(f"a pool was not at rest: {fewer} and {more} processes; run it again")
    one = (sum(many.values()) - sum(few.values())) / further
    print(f"pool with {_FEW} Python container and one container of each other language: {sum(few.values()):.0f} MB")
    for name, megabytes in sorted(few.items(), key=lambda each: -each[1]):
        print(f"  {name}: {megabytes:.1f} MB")
    print(f"pool with {_MANY} Python containers: {sum(many.values()):.0f} MB, so {one:.1f} MB for each further one")


if __name__ == "__main__":
    main()
