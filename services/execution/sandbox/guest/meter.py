"""What the processes of a sandbox use together, read from a /proc that hides none of them."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTED = frozenset((b"RssAnon", b"RssShmem", b"Threads", b"VmHWM", b"VmRSS"))
_ENOUGH = 4096  #: bytes of a status or stat file


@dataclass(frozen=True)
class Reading:
    processes: int
    tasks: int
    memory_kb: int  #: private and shared memory that is not of a file; forks count what they share again
    added_kb: int  #: the same, but of forks only what they have added to what they began with
    cpu_seconds: float


@dataclass
class _Seen:
    """A process, as long as it is there."""

    started: bytes
    least_kb: int
    cpu_seconds: float = 0.0


class Meter:
    """``proc`` is a /proc of the sandbox's; what the code does must not take a process out of its sight."""

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._seen: dict[int, _Seen] = {}
        self._gone_cpu = 0.0

    def others(self) -> list[int]:
        """Every process of the sandbox but this one."""
        return [int(name) for name in os.listdir(self._proc) if name.isdigit() and name != "1"]

    def read(self) -> Reading:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        processes, tasks, memory, added = 0, 0, 0, 0
        cpu = usage.ru_utime + usage.ru_stime
        seen: dict[int, _Seen] = {}
        for pid in self.others():
            try:
                kilobytes, threads = self._status(pid)
                fields = self._file(f"{pid}/stat").rpartition(b")")[2].split()  # the name before it may hold anything
                own = time.clock_gettime((~pid << 3) | 2)
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile, or is a zombie
            known = self._seen.get(pid)
            if known is None or known.started != fields[19]:
                known = _Seen(fields[19], kilobytes if seen else 0)  # the first one's is no copy of another's
            known.least_kb, known.cpu_seconds = min(known.least_kb, kilobytes), max(known.cpu_seconds, own)
            seen[pid] = known
            cpu += own + (int(fields[13]) + int(fields[14])) / _TICKS
            processes += 1
            tasks += threads
            memory += kilobytes
            added += kilobytes - known.least_kb
        return Reading(processes, tasks, memory, added, max(cpu, self._cpu_of_all(seen)))

    def _cpu_of_all(self, seen: dict[int, _Seen]) -> float:
        """Of every process that was ever seen: children whose parent does not wait for them count nowhere else."""
        for pid, known in self._seen.items():
            if seen.get(pid) is not known:
                self._gone_cpu += known.cpu_seconds
        self._seen = seen
        return self._gone_cpu + sum(known.cpu_seconds for known in seen.values())

    def fair_kb(self) -> int:
        """Memory with shared pages counted once."""
        total = 0
        for pid in self.others():
            try:
                lines = self._file(f"{pid}/smaps_rollup").splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")))
            except PermissionError:  # it does not let itself be looked into: then all of it counts
                total += self._status(pid)[0]
            except (OSError, ValueError):
                continue
        return total

    def most_resident_kb(self, pid: int) -> int:
        """The most that a living process had resident; 0 of one that is gone."""
        return self._size(pid, b"VmHWM")

    def forget_most_resident(self, pid: int) -> int:
        """Count a process's maximum from here on; what it has resident now, in kilobytes."""
        with contextlib.suppress(OSError):  # not on every kernel: then only what exceeds the old maximum is seen
            descriptor = os.open(f"{pid}/clear_refs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._proc)
            try:
                os.write(descriptor, b"5")
            finally:
                os.close(descriptor)
        return self._size(pid, b"VmRSS")

    def _size(self, pid: int, name: bytes) -> int:
        with contextlib.suppress(OSError):
            return _counts(self._file(f"{pid}/status")).get(name, 0)
        return 0

    def _status(self, pid: int) -> tuple[int, int]:
        """Kilobytes and threads."""
        counts = _counts(self._file(f"{pid}/status"))
        threads = counts.get(b"Threads", 0)
        if b"RssAnon" not in counts and threads > 1:  # its first thread has ended, and knows of no memory any more
            for task in os.listdir(f"/proc/self/fd/{self._proc}/{pid}/task"):
                counts = _counts(self._file(f"{pid}/task/{task}/status"))
                if b"RssAnon" in counts:
                    break
        return counts.get(b"RssAnon", 0) + counts.get(b"RssShmem", 0), threads

    def _file(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        try:
            return os.read(descriptor, _ENOUGH)
        finally:
            os.close(descriptor)


def _counts(status: bytes) -> dict[bytes, int]:
    pairs = (line.partition(b":") for line in status.splitlines())
    return {name: int(rest.split()[0]) for name, _, rest in pairs if name in _COUNTED}


class FairShare:
    """Asks for the memory with shared pages counted once; that is slow, so it takes a sixth of the time at most."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._not_before = 0.0

    def over(self, limit_kb: int) -> bool:
        begun = time.monotonic()
        if begun < self._not_before:
            return False
        total = self._meter.fair_kb()
        ended = time.monotonic()
        self._not_before = ended + 5 * (ended - begun)
        return total > limit_kb
