"""What the processes of a room use together, read from the room's own /proc."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_KILOBYTES = {b"RssAnon:", b"RssShmem:", b"Threads:"}


@dataclass(frozen=True)
class Reading:
    processes: int
    tasks: int
    memory_kb: int  #: private and shared memory that is not of a file; forks count what they share again
    cpu_seconds: float


def others() -> list[int]:
    """Every process of the room but this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def read_all() -> Reading:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes, tasks, memory, cpu = 0, 0, 0, usage.ru_utime + usage.ru_stime
    for pid in others():
        try:
            counts = _status(pid)
            cpu += time.clock_gettime((~pid << 3) | 2) + _children_cpu(pid)
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile, or is a zombie
        processes += 1
        tasks += counts.get(b"Threads:", 0)
        memory += counts.get(b"RssAnon:", 0) + counts.get(b"RssShmem:", 0)
    return Reading(processes, tasks, memory, cpu)


class FairShare:
    """Memory with shared pages counted once. Slow to ask, so it takes a sixth of the time at most."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def over(self, limit_kb: int) -> bool:
        begun = time.monotonic()
        if begun < self._not_before:
            return False
        total = _fair_memory_kb()
        ended = time.monotonic()
        self._not_before = ended + 5 * (ended - begun)
        return total > limit_kb


def _fair_memory_kb() -> int:
    total = 0
    for pid in others():
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as handle:
                for line in handle:
                    name, _, rest = line.partition(b" ")
                    if name in (b"Pss_Anon:", b"Pss_Shmem:"):
                        total += int(rest.split()[0])
        except (OSError, ValueError):
            continue
    return total


def _status(pid: int) -> dict[bytes, int]:
    with open(f"/proc/{pid}/status", "rb") as handle:
        lines = (line.split() for line in handle)
        return {parts[0]: int(parts[1]) for parts in lines if len(parts) > 1 and parts[0] in _KILOBYTES}


def _children_cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as handle:
        fields = handle.read().rpartition(b")")[2].split()  # the name before it may hold anything
    return (int(fields[13]) + int(fields[14])) / _TICKS
