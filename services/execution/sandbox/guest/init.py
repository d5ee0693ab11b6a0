"""The first process of a sandbox: it lets the code start, watches what it uses, ends it, and hands its files out."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import NoReturn, cast

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.artifacts import ArtifactCollector, ArtifactLimits, gather, snapshot
from services.execution.sandbox.guest.isolate import (
    CODE,
    EMPTY_MB,
    GIVEN,
    OUT,
    REPLIES,
    REQUESTS,
    WORK,
    Ends,
    drop_privileges,
)
from services.execution.sandbox.guest.meter import FairShare, Meter, Reading, Uncounted
from services.execution.sandbox.guest.watch import ChildWatch
from services.execution.sandbox.protocol.control import Control
from services.execution.sandbox.protocol.wire import Json, Message, control_pair, receive, send

_INTERVAL = 0.01  #: seconds between two looks at what is used
_REST = 0.5  #: while a session waits for its next call
_PAGE_KB = 4  #: whatever ran has touched a page
_STARTING_KB = 8192  #: that a fork may add before it becomes another program
_ROOTS = {"work": WORK, "code": CODE, "given": GIVEN}
_SAMPLE: Message = {"t": "ended", "reason": "exit", "status": 0, "cpu_ms": 0.5, "full": False, "names": []}


@dataclass(frozen=True)
class Allowance:
    """The limits of a run, and where it stood when it began."""

    deadline: float
    cpu_seconds: float
    memory_kb: int  #: beyond what was there when the run began
    begun_kb: int
    forked: bool  #: from the warm interpreter
    tasks: int
    refused: bool  #: beyond that number the kernel refuses; if not, the run is ended
    interval: float

    def exceeded(self, now: Reading, fair: FairShare) -> str | None:
        if now.cpu_seconds > self.cpu_seconds:
            return "cpu"
        if time.monotonic() >= self.deadline:
            return "wall"
        if not self.refused and now.tasks > self.tasks:
            return "processes"
        if now.memory_kb <= self.begun_kb + self.memory_kb:
            return None
        return "memory" if now.processes == 1 or fair.over(self.memory_kb, self.begun_kb, self.forked) else None


@dataclass(frozen=True)
class Means:
    """What differs with the kernel that init runs on."""

    control: Control
    meter: Meter
    resize: Callable[
        [int, int], None
    ]  #: the place that the code writes to: megabytes, and files beyond the usual number
    user: int | None = None  #: that the code runs under, where init itself has rights over it
    counts_tasks: bool = True  #: the kernel refuses processes beyond a number; where it does not, they end the run
    interval: float = _INTERVAL


class Init:
    """Runs as process 1 of the sandbox, out of the code's sight and reach."""

    def __init__(self, descriptors: list[int], program: Message, means: Means) -> None:
        requests, replies, stdin, stdout, stderr = descriptors
        self._control = means.control
        self._means = means
        self._passing, passed = control_pair()
        ends = Ends(requests, replies, stdin, stdout, stderr, passed.fileno())
        self._forked = program["module"] is not None
        self._own_tasks = 1 + int(cast("int", program["threads"]))
        # Its control group, if there is one, must be set before there is a child that would stay outside.
        self._control.send({"t": "ready"})
        if self._control.receive()[0] is None:
            os._exit(0)
        self._job = os.fork()
        if self._job == 0:
            _run_job(ends, program, means.user)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        for descriptor in (ends.requests, ends.replies, ends.stdin, ends.stdout, ends.stderr):
            os.close(descriptor)
        passed.close()
        with contextlib.suppress(OSError), open(f"/proc/{self._job}/oom_score_adj", "w", encoding="ascii") as handle:
            handle.write("1000")
        self._watch = ChildWatch(self._job)
        self._allowed: Allowance | None = None
        self._first = Reading(0, 0, 0, 0, 0.0)
        self._begun_cpu = 0.0
        self._peak_kb = 0
        self._begun_resident_kb = 0
        self._most_resident_kb = 0  #: of a process that has ended
        # What a program replaced when it was started counts in its process's maximum: below that nothing is known.
        self._unknown_kb = 0 if program["module"] is not None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._meter = means.meter
        self._fair = FairShare(means.meter)
        self._crowded = False
        self._full = False
        self._status: int | None = None
        self._before: dict[str, tuple[int, int, int]] = {}
        self._caps: ArtifactLimits | None = None
        self._prewarm()

    def _prewarm(self) -> None:
        """Go once the ways of a run, now that nobody waits: what they touch is no longer shared with the parent."""
        self._meter.read()
        self._data_bytes()
        self._means.resize(EMPTY_MB, 0)
        os.statvfs(WORK)
        gather(WORK, ArtifactCollector(ArtifactLimits(0, 0), snapshot(WORK), lambda _path, _size, _descriptor: None))
        here, there = control_pair()
        with here, there:
            send(here, _SAMPLE)
            receive(there)

    def run(self) -> None:
        """From the first word of the supervisor to the last file."""
        try:
            reason = self._supervise()
        except Uncounted as uncounted:
            reason = uncounted.reason
        last = self._end_all()
        self._control.send(
            {
                "t": "ended",
                "reason": reason,
                "status": self._status,
                **self._used(last),
                "crowded": self._crowded,
                "full": self._full,
            },
        )
        if self._caps is not None:
            self._hand_out(self._caps)
        self._control.send({"t": "bye"})

    def _used(self, now: Reading) -> Message:
        """By the run, or by the last call of a session; memory is all that the code has added so far.

        The kernel's own maximum sees what came and went between two looks. It counts resident pages: a page that a
        fork shares with the warm interpreter counted before the run already, and is not added.
        """
        most = self._meter.most_resident_kb(self._job)
        if self._most_resident_kb > self._unknown_kb + _STARTING_KB:
            most = max(most, self._most_resident_kb)
        added = max(self._peak_kb - self._first.added_kb, most - self._begun_resident_kb, _PAGE_KB)
        return {"cpu_ms": max(0.0, now.cpu_seconds - self._begun_cpu) * 1000, "peak_mb": added / 1024}

    def _count_anew(self, now: Reading) -> None:
        """From the end of one call, not from the word of the next: its code may be faster than that word."""
        self._begun_cpu, self._peak_kb = now.cpu_seconds, now.added_kb

    def _supervise(self) -> str:
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._watch.fileno(), select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(self._timeout())}
            if self._control.fileno() in ready:
                reason = self._handle_message()
                if reason is not None:
                    return reason
            if self._watch.fileno() in ready and self._watch.ended(self._reap, lambda: self._status is not None):
                return "exit"
            if self._allowed is not None:
                now = self._look(self._allowed)
                reason = self._allowed.exceeded(now, self._fair)
                if reason is not None:
                    return reason
            self._reap()

    def _timeout(self) -> float | None:
        if self._allowed is None:
            return None
        return max(0.0, min(self._allowed.interval, self._allowed.deadline - time.monotonic())) * 1000

    def _look(self, allowed: Allowance) -> Reading:
        now = self._meter.read()
        self._peak_kb = max(self._peak_kb, now.added_kb, self._first.added_kb + self._added_resident_kb())
        self._crowded = self._crowded or now.tasks >= allowed.tasks
        return now

    def _added_resident_kb(self) -> int:
        """By a program of its own, whose maximum is lost with it."""
        return self._meter.most_resident_kb(self._job) - self._begun_resident_kb if self._unknown_kb else 0

    def _handle_message(self) -> str | None:
        """Do what the supervisor asks; a reason to end, if it gives one."""
        message, descriptors = self._control.receive()
        if message is None or message["t"] == "stop":
            return "stopped"
        if message["t"] == "start":
            self._start(message, descriptors)
        elif message["t"] == "put":
            self._put(message, descriptors)
            self._control.send({"t": "put"})
        elif message["t"] == "rest" and self._allowed is not None:
            now = self._look(self._allowed)
            self._control.send({"t": "used", **self._used(now)})
            self._count_anew(now)
            endless = float("inf")
            self._allowed = replace(self._allowed, deadline=endless, cpu_seconds=endless, interval=_REST)
        elif message["t"] == "take":
            self._give(str(message["path"]))
        elif message["t"] == "interrupt":
            os.kill(self._job, signal.SIGINT)
        elif message["t"] == "extend":
            self._allow(message)
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def _start(self, message: Message, descriptors: list[int]) -> None:
        files = cast("list[dict[str, str]]", message["files"])
        self._hand_over(descriptors[len(files) :])
        descriptors = descriptors[: len(files)]
        given = sum(os.fstat(descriptor).st_size for descriptor in descriptors)
        disk = int(cast("int", message["disk_mb"]))
        self._means.resize(disk + -(-given // 1_000_000) + len(files) // 200 + 1, 2 * len(files))
        self._put(message, descriptors)
        self._before = snapshot(WORK)
        if message["collect"] is not None:
            count, size = cast("list[int]", message["collect"])
            self._caps = ArtifactLimits(count, size)
        self._first = self._meter.read()
        self._count_anew(self._first)
        self._begun_resident_kb = self._meter.forget_most_resident(self._job)
        megabytes = int(cast("int", message["memory_mb"]))
        processes = int(cast("int", message["processes"]))
        # What the language itself has running is not the code's.
        self._own_tasks = max(self._own_tasks, self._first.tasks)
        tasks = processes + self._own_tasks - 1
        limits = {
            # And init. A group refuses first where there is one: it counts its refusals.
            resource.RLIMIT_NPROC: tasks + (9 if message["grouped"] else 1),
            resource.RLIMIT_FSIZE: (disk + 64) << 20,
            resource.RLIMIT_DATA: self._data_bytes() + (2 * megabytes + 320 << 20),
            resource.RLIMIT_CPU: int(cast("float", message["cpu_seconds"])) + 5,
        }
        for limit, value in limits.items():
            resource.prlimit(self._job, limit, (value, value))
        self._allow(message)
        self._control.send({"t": "started"})

    def _hand_over(self, descriptors: list[int]) -> None:
        """Files that the kernel gets as they are, without a copy; the socket is open once, before any code."""
        with self._passing, contextlib.suppress(OSError):
            if descriptors:
                send(self._passing, {"t": "passed"}, descriptors)

    def _allow(self, message: Message) -> None:
        """Limits count from here: a session gets them anew for each call."""
        now = self._meter.read()
        wall = cast("float | None", message["wall_seconds"])
        self._allowed = Allowance(
            float("inf") if wall is None else time.monotonic() + wall,
            now.cpu_seconds + float(cast("float", message["cpu_seconds"])),
            int(cast("int", message["memory_mb"])) << 10,
            self._first.memory_kb,
            self._forked,
            int(cast("int", message["processes"])) + self._own_tasks - 1,
            self._means.counts_tasks,
            self._means.interval,
        )

    def _data_bytes(self) -> int:
        with open(f"/proc/{self._job}/status", encoding="ascii", errors="replace") as handle:
            return next((int(line.split()[1]) << 10 for line in handle if line.startswith("VmData:")), 0)

    def _put(self, message: Message, descriptors: list[int]) -> None:
        for file, descriptor in zip(cast("list[dict[str, str]]", message["files"]), descriptors, strict=True):
            with self._as_owner(file["root"]):
                target = os.path.join(_ROOTS[file["root"]], file["path"])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                # A file of an earlier call may still be mapped: it is replaced, never cut.
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(target)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                written = os.open(target, flags, 0o644)
                offset, size = 0, os.fstat(descriptor).st_size
                os.truncate(written, size)  # only within their size do files get large pages
                while offset < size:
                    sent = os.sendfile(written, descriptor, offset, size - offset)
                    if sent == 0:
                        break
                    offset += sent
                os.close(written)

    @contextlib.contextmanager
    def _as_owner(self, root: str) -> Iterator[None]:
        """What is put into the work folder is the code's own."""
        user = self._means.user if _ROOTS[root] == WORK else None
        if user is None:
            yield
            return
        os.seteuid(user)
        try:
            yield
        finally:
            os.seteuid(os.getuid())

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                self._most_resident_kb = max(self._most_resident_kb, usage.ru_maxrss)
                if pid == 0:
                    return
                if pid == self._job:
                    self._status = status

    def _end_all(self) -> Reading:
        """Kill whatever is left, until nothing is; then nobody can change the files any more."""
        store = os.statvfs(WORK)
        self._full = store.f_bavail == 0 or (store.f_favail == 0 and store.f_files > 0)
        self._reap()
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._job, signal.SIGKILL)
        while self._meter.others():
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                pid, status, usage = os.wait4(-1, 0)
                self._most_resident_kb = max(self._most_resident_kb, usage.ru_maxrss)
                if pid == self._job:
                    self._status = status
        return self._meter.read()

    def _hand_out(self, caps: ArtifactLimits) -> None:
        def take(path: str, size: int, descriptor: int) -> None:
            self._control.send({"t": "file", "path": path, "size": size}, [descriptor])

        collector = ArtifactCollector(caps, self._before, take)
        gather(WORK, collector)
        for name in sorted(os.listdir(OUT)):
            self._give(name)
        refusals: list[Json] = list(collector.refused)
        self._control.send({"t": "refused", "names": refusals})

    def _give(self, name: str) -> None:
        """A file of the way out, by its name: the code chose it, and in a session it lives while we look."""
        descriptor = _opened_out(name)
        if descriptor is None:
            self._control.send({"t": "missing", "path": name})
            return
        try:
            self._control.send({"t": "out", "path": name, "size": os.fstat(descriptor).st_size}, [descriptor])
        finally:
            os.close(descriptor)


def _opened_out(name: str) -> int | None:
    """A regular file that stands in ``OUT`` itself: no other path, no link, no pipe that would never end."""
    if os.path.basename(name) != name or "\x00" in name:
        return None
    try:
        descriptor = os.open(os.path.join(OUT, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, UnicodeError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _run_job(ends: Ends, program: Message, user: int | None) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        drop_privileges(ends, bool(program["memfd"]), user)
        if program["module"] is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # until its service hears interrupts
            import_module(str(program["module"])).serve(REQUESTS, REPLIES)
        else:
            path, *arguments = cast("list[str]", program["command"])
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execv(path, [os.path.basename(path), *arguments])
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"kernel: {type(error).__name__}: {error}\n".encode())
    os._exit(70)
