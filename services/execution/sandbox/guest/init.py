"""The first process of a sandbox: it lets the code start, watches what it uses, ends it, and hands its files out."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.artifacts import ArtifactCollector, ArtifactLimits, gather, snapshot
from services.execution.sandbox.guest.child_exit import ChildWatch
from services.execution.sandbox.guest.exchange import FileExchange
from services.execution.sandbox.guest.isolate import EMPTY_MB, WORK, Ends
from services.execution.sandbox.guest.job import run_job
from services.execution.sandbox.guest.meter import FairShare, Meter, Reading, Uncounted
from services.execution.sandbox.guest.resting import ProcRegisters, Registers, RestingKernel
from services.execution.sandbox.guest.usage import Allowance, JobUsage
from services.execution.sandbox.protocol.control import Control
from services.execution.sandbox.protocol.wire import Message, control_pair, receive, send

_INTERVAL = 0.01  #: seconds between two checks of the usage
_REST = 0.5  #: while a session waits for its next call
_SETTLES_WITHIN = 20.0  #: seconds for a kernel to wait for its first request
_SETTLING = 0.0002  #: seconds until the second check of a kernel that claims to be finished; then twice that, ...
_REST_CPU = 1.0  #: seconds of processor time that its threads may take meanwhile, if its last call left less
_SAMPLE: Message = {"t": "ended", "reason": "exit", "status": 0, "cpu_ms": 0.5, "full": False, "names": []}


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
    registers: Registers = field(default_factory=ProcRegisters)
    disturbs: bool = False  #: a check of the registers; then only a kernel that claims to be finished is checked


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
            run_job(ends, program, means.user)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        for descriptor in (ends.requests, ends.replies, ends.stdin, ends.stdout, ends.stderr):
            os.close(descriptor)
        passed.close()
        with contextlib.suppress(OSError), open(f"/proc/{self._job}/oom_score_adj", "w", encoding="ascii") as handle:
            handle.write("1000")
        self._watch = ChildWatch(self._job)
        self._kernel = RestingKernel(self._job, means.registers) if program["rests"] else None
        self._call = 0  #: the number of the call that runs, or ran last
        self._settled = True  #: that call has ended
        self._asked = False  #: the kernel claims that it has
        self._settling = _SETTLING
        self._once = True
        self._ended: tuple[str, int] | None = None  #: how it has, and the checksum of its values
        self._allowed: Allowance | None = None
        self._meter = means.meter
        self._fair = FairShare(means.meter)
        self._usage = JobUsage(means.meter, self._job, self._forked)
        self._files = FileExchange(means.control, means.user)
        self._limits: Message = {}  #: at which it was when it ended
        self._status: int | None = None
        self._prewarm()

    def _prewarm(self) -> None:
        """Run the code paths of a run once, in idle time: the pages that they touch are no longer shared with the
        parent.
        """
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
        """Serve the supervisor from its first message to the last file."""
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
                **self._usage.report(last),
                **self._limits,
            },
        )
        self._files.hand_out()
        self._control.send({"t": "bye"})

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
                settled = (
                    not self._settled and self._has_settled()
                )  # before the limits: what it has used by then counts
                now = self._usage.look(self._allowed)
                reason = self._allowed.exceeded(now, self._fair, at_once=settled)
                if reason is not None:
                    return reason
                if settled:
                    self._report_settled(now)
                    if self._once:
                        return "settled"
                    self._rest(now)
            self._reap()

    def _has_settled(self) -> bool:
        """Return whether the call has ended; without a claim this is detected a little later, if at all."""
        if self._kernel is None:
            return self._asked
        if self._asked or not self._means.disturbs:
            self._ended = self._kernel.ended(self._call)
        return self._ended is not None

    def _report_settled(self, now: Reading) -> None:
        self._settled = True
        outcome, claimed = self._ended or (None, None)
        seen: Message = {"outcome": outcome, "checksum": claimed}
        self._control.send({"t": "settled", **seen, **self._usage.report(now), **self._at_limits()})

    def _rest(self, now: Reading) -> None:
        """Let a session wait for its next call."""
        assert self._allowed is not None
        self._usage.count_anew(now)
        most = max(self._allowed.cpu_seconds, now.cpu_seconds + _REST_CPU)
        self._allowed = replace(self._allowed, deadline=float("inf"), cpu_seconds=most, interval=_REST)

    def _timeout(self) -> float | None:
        if self._allowed is None:
            return None
        interval = self._allowed.interval
        if self._asked and not self._settled:
            interval = min(self._settling, interval)
            self._settling *= 2
        return max(0.0, min(interval, self._allowed.deadline - time.monotonic())) * 1000

    def _handle_message(self) -> str | None:
        """Handle a request of the supervisor; return the reason to end, if it gives one."""
        message, descriptors = self._control.receive()
        if message is None or message["t"] == "stop":
            return "stopped"
        if message["t"] == "start":
            self._start(message, descriptors)
        elif message["t"] == "put":
            self._files.put(message, descriptors)
            self._control.send({"t": "put"})
        elif message["t"] == "settle":
            self._asked, self._settling = True, _SETTLING
        elif message["t"] == "gather":
            self._files.hand_out_new(message["collect"], message["endings"])
        elif message["t"] == "take":
            self._files.give(str(message["path"]))
        elif message["t"] == "interrupt":
            os.kill(self._job, signal.SIGINT)
        elif message["t"] == "extend":
            self._allow(message)
            self._expect(once=False)
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
        self._files.put(message, descriptors)
        self._files.begin(message["collect"])
        self._usage.begin()
        megabytes = int(cast("int", message["memory_mb"]))
        processes = int(cast("int", message["processes"]))
        # What the language itself has running is not the code's.
        self._own_tasks = max(self._own_tasks, self._usage.first.tasks)
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
        self._wait_at_rest()
        if message["until"] is not None:
            self._expect(once=message["until"] == "end")
        self._control.send({"t": "started"})

    def _wait_at_rest(self) -> None:
        """Wait until the kernel waits for its first request. Raises: TimeoutError, PermissionError."""
        deadline = time.monotonic() + _SETTLES_WITHIN
        while self._kernel is not None and not self._kernel.remember():
            if time.monotonic() > deadline:
                raise TimeoutError("the kernel is not seen to wait for a request (/proc/PID/syscall)")
            time.sleep(_SETTLING)

    def _expect(self, once: bool) -> None:
        """Prepare for the next request."""
        self._call += 1
        self._once, self._settled, self._asked, self._ended = once, False, False, None

    def _hand_over(self, descriptors: list[int]) -> None:
        """Hand the kernel files without a copy; the socket is open once, before any code."""
        with self._passing, contextlib.suppress(OSError):
            if descriptors:
                send(self._passing, {"t": "passed"}, descriptors)

    def _allow(self, message: Message) -> None:
        """Start the limits: a session restarts them for each call."""
        now = self._meter.read()
        wall = cast("float | None", message["wall_seconds"])
        self._allowed = Allowance(
            float("inf") if wall is None else time.monotonic() + wall,
            now.cpu_seconds + float(cast("float", message["cpu_seconds"])),
            int(cast("int", message["memory_mb"])) << 10,
            self._usage.first.memory_kb,
            self._forked,
            int(cast("int", message["processes"])) + self._own_tasks - 1,
            self._means.counts_tasks,
            self._means.interval,
        )

    def _data_bytes(self) -> int:
        with open(f"/proc/{self._job}/status", encoding="ascii", errors="replace") as handle:
            return next((int(line.split()[1]) << 10 for line in handle if line.startswith("VmData:")), 0)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                self._usage.add_ended(usage.ru_maxrss)
                if pid == 0:
                    return
                if pid == self._job:
                    self._status = status

    def _at_limits(self) -> Message:
        """Return the limits that it is, or has been, at: a failure there is caused by them."""
        store = os.statvfs(WORK)
        full = store.f_bavail == 0 or (store.f_favail == 0 and store.f_files > 0)
        return {"crowded": self._usage.crowded, "full": full}

    def _end_all(self) -> Reading:
        """Kill all processes until none is left; then the files cannot change any more."""
        self._limits = self._at_limits()
        self._reap()
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._job, signal.SIGKILL)
        while self._meter.others():
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                pid, status, usage = os.wait4(-1, 0)
                self._usage.add_ended(usage.ru_maxrss)
                if pid == self._job:
                    self._status = status
        return self._meter.read()
