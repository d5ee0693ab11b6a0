"""What the processes of a sandbox use together, read from a /proc that hides none of them."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTED = frozenset((b"RssAnon", b"RssShmem", b"Threads", b"VmHWM", b"VmPTE", b"VmRSS"))
_SOCKETS = 32  #: that most programs never have
_SOCKET_KB = 208  #: the kernel's own limit for each
_SHARES = (b"Pss_Anon", b"Pss_Shmem", b"Private_Dirty")
_PUT_OFF = 0.25  #: seconds
_ENOUGH = 4096  #: bytes of a status or stat file
_GONE = (errno.ENOENT, errno.ESRCH)  #: what /proc says of a process that has ended meanwhile


class Uncounted(Exception):
    """A process is there that cannot be counted: whatever it did to that end, the run must end."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(errno.errorcode.get(code or 0, "no figures"))
        self.reason = "memory" if code == errno.ENOMEM else "uncounted"


@dataclass(frozen=True)
class Reading:
    processes: int
    tasks: int
    memory_kb: int  #: not of files; with page tables, and what sockets may hold; forks count what they share again
    added_kb: int  #: the same, but of forks only what they have added to what they began with
    cpu_seconds: float


@dataclass(frozen=True)
class _ProcessReading:
    """One process, now."""

    started: bytes
    memory_kb: int
    threads: int
    cpu_seconds: float
    children_cpu_seconds: float  #: of those that it waited for


@dataclass(frozen=True)
class _Share:
    """What a process has of memory that others have too: pages that n of them share count an nth."""

    all_kb: int
    shared_kb: int | None  #: of that, what it has not alone; ``None`` when it is not known, and all of it counts


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
        """Return every process of the sandbox except this one."""
        return [int(name) for name in os.listdir(self._proc) if name.isdigit() and name != "1"]

    def read(self) -> Reading:
        """Read the usage. Raises: Uncounted."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        sockets = self._sockets_kb()
        processes, tasks, memory, added = 0, 0, sockets, sockets
        cpu = usage.ru_utime + usage.ru_stime
        seen: dict[int, _Seen] = {}
        for pid in self.others():
            looked_at = self._look(pid)
            if looked_at is None:
                continue
            known = self._seen.get(pid)
            if known is None or known.started != looked_at.started:
                # The first one's memory is not a copy of another's.
                known = _Seen(looked_at.started, looked_at.memory_kb if seen else 0)
            known.least_kb = min(known.least_kb, looked_at.memory_kb)
            known.cpu_seconds = max(known.cpu_seconds, looked_at.cpu_seconds)
            seen[pid] = known
            cpu += looked_at.cpu_seconds + looked_at.children_cpu_seconds
            processes += 1
            tasks += looked_at.threads
            memory += looked_at.memory_kb
            added += looked_at.memory_kb - known.least_kb
        return Reading(processes, tasks, memory, added, max(cpu, self._cpu_of_all(seen)))

    def _cpu_of_all(self, seen: dict[int, _Seen]) -> float:
        """Return the CPU time of every process ever seen: unreaped children count nowhere else."""
        for pid, known in self._seen.items():
            if seen.get(pid) is not known:
                self._gone_cpu += known.cpu_seconds
        self._seen = seen
        return self._gone_cpu + sum(known.cpu_seconds for known in seen.values())

    def _look(self, pid: int) -> _ProcessReading | None:
        """``None`` of a process that has ended. Raises: Uncounted."""
        with _counting():
            kilobytes, threads = self._status(pid)
            fields = self._file(f"{pid}/stat").rpartition(b")")[2].split()  # the name before it may hold anything
            waited_for = (int(fields[13]) + int(fields[14])) / _TICKS
            return _ProcessReading(fields[19], kilobytes, threads, _cpu_seconds(pid), waited_for)
        return None

    def fairly_added_kb(self, begun_kb: int, forked: bool) -> int:
        """Return the memory, with shared pages counted once, beyond the initial ``begun_kb``. Raises: Uncounted.

        A fork counts only its part of what it shares with the warm interpreter, and that part changes: init, a fork
        too, knows its current size. A separate program shares nothing.
        """
        warm, total, spared = self._share(1).shared_kb or 0, self._sockets_kb(), 0
        for pid in self.others():
            with _counting():
                share = self._share(pid)
                total += share.all_kb
                spared += begun_kb if share.shared_kb is None else min(share.shared_kb, warm)
        return total - min(spared if forked else begun_kb, begun_kb)

    def _share(self, pid: int) -> _Share:
        """Read a process's share of memory. Raises: OSError."""
        try:
            lines = _lines(self._file(f"{pid}/smaps_rollup"))
        except (PermissionError, ProcessLookupError):
            lines = []
        sizes = {
            name: int(rest.split()[0]) for name, _, rest in (line.partition(b":") for line in lines) if name in _SHARES
        }
        if not sizes:  # it does not let itself be looked into, or its first thread has ended: then all of it counts
            return _Share(self._status(pid)[0], None)
        anonymous = sizes.get(b"Pss_Anon", 0)
        shared = max(0, anonymous - sizes.get(b"Private_Dirty", 0))
        return _Share(anonymous + sizes.get(b"Pss_Shmem", 0) + self._size(pid, b"VmPTE"), shared)

    def _sockets_kb(self) -> int:
        """Return what the sandbox's socket pairs may hold unread, at their maximum: no process's memory includes it."""
        with contextlib.suppress(FileNotFoundError):
            words = self._file("1/net/sockstat").split()[:3]  # sockets: used 5
            return max(0, int(words[2]) - _SOCKETS) * _SOCKET_KB
        return 0

    def most_resident_kb(self, pid: int) -> int:
        """Return the maximum resident memory of a living process; 0 for one that is gone."""
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
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # others are still there
                    counts = _counts(self._file(f"{pid}/task/{task}/status"))
                if b"RssAnon" in counts:
                    break
        return sum(counts.get(name, 0) for name in (b"RssAnon", b"RssShmem", b"VmPTE")), threads

    def _file(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        try:
            return os.read(descriptor, _ENOUGH)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _counting() -> Iterator[None]:
    """Skip a process that has ended meanwhile. Raises: Uncounted for one that cannot be counted."""
    try:
        yield
    except OSError as error:
        if error.errno not in _GONE:
            raise Uncounted(error.errno) from None
    except (ValueError, LookupError):
        raise Uncounted from None


def _cpu_seconds(pid: int) -> float:
    """Return a process's CPU time. Raises: ProcessLookupError."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        if error.errno == errno.EINVAL:  # a process that is gone has no valid clock
            raise ProcessLookupError(errno.ESRCH, "gone") from None
        raise


def _lines(text: bytes) -> list[bytes]:
    """Split at newlines only: a process's own name may hold any other character, and the kernel escapes newlines."""
    return text.split(b"\n")


def _counts(status: bytes) -> dict[bytes, int]:
    pairs = (line.partition(b":") for line in _lines(status))
    return {name: int(rest.split()[0]) for name, _, rest in pairs if name in _COUNTED}


class SentryMeter(Meter):
    """Meter for gVisor, whose kernel counts all anonymous memory once: no name or state hides any of it.

    What the code writes to files counts as disk; memfd is not available there.
    """

    def read(self) -> Reading:
        reading = super().read()
        memory = self._anonymous_kb()
        return replace(reading, memory_kb=memory, added_kb=memory)

    def fairly_added_kb(self, begun_kb: int, forked: bool) -> int:
        del forked
        return self._anonymous_kb() - begun_kb

    def _anonymous_kb(self) -> int:
        """Read the anonymous memory. Raises: Uncounted."""
        with _counting():
            lines = (line.partition(b":") for line in _lines(self._file("meminfo")))
            sizes = {name: int(rest.split()[0]) for name, _, rest in lines if name in (b"AnonPages", b"Shmem")}
            return sizes[b"AnonPages"] - sizes[b"Shmem"]
        raise Uncounted

    def _sockets_kb(self) -> int:
        return 0  # the host counts what its kernel holds for them


class FairShare:
    """Reads the memory with shared pages counted once: rarely, because it is slow, yet in time."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._not_before = 0.0

    def over(self, limit_kb: int, begun_kb: int, forked: bool, at_once: bool = False) -> bool:
        begun = time.monotonic()
        if begun < self._not_before and not at_once:
            return False
        added = self._meter.fairly_added_kb(begun_kb, forked)
        ended = time.monotonic()
        # Code can make it slower still.
        self._not_before = ended + min(5 * (ended - begun), _PUT_OFF)
        return added > limit_kb
