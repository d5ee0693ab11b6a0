"""The first process of the namespaces around a gVisor sandbox: it starts runsc, and acts as init towards the host.

Outside, init is a process with a socket and five pipes. No descriptor of the host's can be handed over into gVisor, so
the streams go through named pipes, and files are copied. The end of this process ends all in the namespaces.
Usage: main(control, requests, replies, stdin, stdout, stderr)
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import cast

from services.execution.sandbox.guest.gvisor import ENDS, PIPES
from services.execution.sandbox.protocol.control import PipeControl, SocketControl
from services.execution.sandbox.protocol.wire import Message

ROOT = "/rootfs"  #: what the sandbox has as its root
RUNSC = "/runtime/runsc"
_INTO = ("requests", "stdin")  #: the other streams come out
_HERE, _BUNDLE = "/tmp/ends", "/tmp/bundle"  # noqa: S108 - in our mount namespace
_MAX_OUT = 400 << 20  #: bytes of one file that comes out
_REST_CPU = 60.0  #: seconds that a session may take between two calls: gVisor and this process take some themselves
_LOOK_EVERY = 0.1  #: seconds
_NO_LIMIT = 1_000_000
_MORE_PROCESSES = 64  #: than the run may have: before that init ends it
_STOPS_WITHIN = 5.0
_KERNEL_MB = 384  #: that gVisor itself may take beyond what it began with, and the memory that the run may have
_PIECE = 1 << 16
_CAPABILITIES = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_ADMIN",
    "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
]


def main() -> None:
    control, *streams = (int(number) for number in sys.argv[1:7])
    host = SocketControl(socket.socket(fileno=control))
    program = cast("Message", json.loads(sys.argv[7]))
    host.send({"t": "ready"})  # the receiver puts this process, and so all that it starts, under its limits
    if host.receive()[0] is None:
        return
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _Bridge(host, streams, program).run()


@dataclass
class _Flow:
    """One stream on its way from a descriptor to another, a piece at a time."""

    source: int
    target: int
    held: bytes = b""
    over: bool = False

    def move(self) -> None:
        try:
            if not self.held:
                self.held = os.read(self.source, _PIECE)
                self.over = not self.held
            if self.held:
                self.held = self.held[os.write(self.target, self.held) :]
        except BlockingIOError:
            return
        except OSError:  # the reader is gone
            self.over = True


class _Bridge:
    def __init__(self, host: SocketControl, streams: list[int], program: Message) -> None:
        self._host = host
        self._program = program
        os.mkdir(_HERE)
        self._flows = [self._flow(name, outer) for name, outer in zip(PIPES, streams, strict=True)]
        self._runsc = _started(cast("list[str]", program["python"]))
        assert self._runsc.stdin is not None
        assert self._runsc.stdout is not None
        self._init = PipeControl(self._runsc.stdout.fileno(), self._runsc.stdin.fileno(), _MAX_OUT)
        self._booted: Message = {}
        self._look_at = 0.0
        self._begun_cpu = 0.0
        self._spent_at: float | None = None
        self._cpu_seconds = float("inf")  #: of the run, or of the call of a session that runs now
        self._begun = 0, 0  #: kilobytes and processes
        self._most_processes = 0
        self._memory_kb: int | None = None  #: of the run; ``None`` before it has begun

    def _flow(self, name: str, outer: int) -> _Flow:
        path = f"{_HERE}/{name}"
        os.mkfifo(path)
        os.chmod(path, 0o666)  # noqa: S103 - the only other user is the code's, in gVisor
        # Open it for both directions for now, so that neither side waits for the other.
        inner = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(outer, False)
        return _Flow(outer, inner) if name in _INTO else _Flow(inner, outer)

    def run(self) -> None:
        """Forward until init has sent its last message, or is gone."""
        self._init.send(self._program)
        try:
            while self._step():
                pass
        except (OSError, ValueError, EOFError):
            self._runsc.kill()

    def _step(self) -> bool:
        poll = select.poll()
        for number in (self._host.fileno(), self._init.fileno()):
            poll.register(number, select.POLLIN)
        for flow in self._flows:
            if not flow.over:
                poll.register(flow.target if flow.held else flow.source, select.POLLOUT if flow.held else select.POLLIN)
        ready = {number for number, _ in poll.poll(_LOOK_EVERY * 1000)}
        for flow in self._flows:
            if not flow.over and {flow.source, flow.target} & ready:
                flow.move()
                if flow.over:
                    self._end(flow)
        if self._host.fileno() in ready and not self._pass_in():
            return False
        if self._init.fileno() in ready and not self._pass_out():
            return False
        return self._within_limits()

    def _pass_in(self) -> bool:
        """Pass a word of the host's on to init; ``False`` at its end."""
        message, descriptors = self._host.receive()
        if message is None:
            return False
        if message["t"] == "start":
            self._memory_kb = int(cast("int", message["memory_mb"])) << 10
            self._most_processes = int(cast("int", message["processes"])) + _MORE_PROCESSES
        if message["t"] in ("start", "extend"):
            self._begun_cpu = _cpu_seconds()
            self._cpu_seconds = float(cast("float", message["cpu_seconds"]))
            # gVisor takes for processor time what a process waits for on a busy machine: it is counted here.
            message = {**message, "cpu_seconds": _NO_LIMIT}
        self._init.send(message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _pass_out(self) -> bool:
        """Pass a word of init's on to the host; ``False`` at its end, when all that was said is out."""
        message, descriptors = self._init.receive()
        if message is None:
            self._drain()
            return False
        if message["t"] == "ready":
            self._open_one_way()
            self._init.send({"t": "go"})
            message = self._booted  # only now: the next word to init is not for its start
        elif message["t"] == "booted":
            self._booted = message
            return True
        if message["t"] in ("ended", "settled"):
            message = {**message, "cpu_ms": self._cpu_ms()}
        if message["t"] == "settled":
            self._cpu_seconds = max(self._cpu_seconds, _cpu_seconds() - self._begun_cpu + _REST_CPU)
        if message.get("reason") == "stopped" and self._spent_at is not None:
            message = {**message, "reason": "cpu"}
        self._host.send(message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _cpu_ms(self) -> float:
        return max(0.0, _cpu_seconds() - self._begun_cpu) * 1000

    def _open_one_way(self) -> None:
        """Reopen the streams, so that each ends when init's side of it has ended."""
        for name, flow in zip(PIPES, self._flows, strict=True):
            inner, mode = (flow.target, os.O_WRONLY) if name in _INTO else (flow.source, os.O_RDONLY)
            opened = os.open(f"{_HERE}/{name}", mode | os.O_NONBLOCK | os.O_CLOEXEC)
            os.dup2(opened, inner, inheritable=False)
            os.close(opened)

    def _end(self, flow: _Flow) -> None:
        for number in (flow.source, flow.target):
            with contextlib.suppress(OSError):
                os.close(number)

    def _drain(self) -> None:
        """Forward the output that is still in the pipes after init is gone."""
        self._runsc.kill()
        self._runsc.wait()
        for name, flow in zip(PIPES, self._flows, strict=True):
            if name not in _INTO and not flow.over:
                os.set_blocking(flow.target, True)
                with contextlib.suppress(BlockingIOError):  # no writer is left: it is empty
                    while not flow.over:
                        flow.held = flow.held or os.read(flow.source, _PIECE)
                        flow.over = not flow.held
                        flow.move()

    def _within_limits(self) -> bool:
        """Check what the run costs this machine; ``False`` when it was ended from here, which init could not do."""
        now = time.monotonic()
        if now < self._look_at:
            return True
        self._look_at = now + _LOOK_EVERY
        if self._spent_at is None and self._cpu_ms() > 1000 * self._cpu_seconds:
            self._spent_at = now
            self._init.send({"t": "stop"})
        memory, processes = _anonymous_kb(), _processes()
        if self._memory_kb is None:
            self._begun = memory, processes
        elif memory > self._begun[0] + self._memory_kb + (_KERNEL_MB << 10):
            return self._end_run("memory", memory)
        elif processes > self._begun[1] + self._most_processes:
            return self._end_run("processes", memory)
        elif self._spent_at is not None and now > self._spent_at + _STOPS_WITHIN:
            return self._end_run("cpu", memory)
        return True

    def _end_run(self, reason: str, memory_kb: int) -> bool:
        peak = (memory_kb - self._begun[0]) / 1024
        figures: Message = {"cpu_ms": self._cpu_ms(), "peak_mb": peak, "crowded": False, "full": False}
        self._host.send({"t": "ended", "reason": reason, "status": None, **figures})
        self._host.send({"t": "bye"})
        self._runsc.kill()
        return False


def _processes() -> int:
    """Count the processes of these namespaces: gVisor has one for each address space inside."""
    return sum(name.isdigit() for name in os.listdir("/proc"))


def _cpu_seconds() -> float:
    """Return the CPU time of every process of these namespaces, and of those that ended in them."""
    ticks = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as handle:
                ticks += sum(int(field) for field in handle.read().rpartition(b")")[2].split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _anonymous_kb() -> int:
    """Return the anonymous memory of every process of these namespaces; the code's own is shared memory here."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/status", "rb") as handle:
                total += sum(int(line.split()[1]) for line in handle if line.startswith(b"RssAnon:"))
    return total


def _started(python: list[str]) -> subprocess.Popen[bytes]:
    os.mkdir(_BUNDLE)
    with open(f"{_BUNDLE}/config.json", "x", encoding="utf-8") as handle:
        json.dump(_bundle(python), handle)
    options = ["--root=/tmp/runsc", "--rootless", "--platform=ptrace", "--network=none", "--ignore-cgroups"]
    command = [RUNSC, *options, "--host-fifo=open", "run", "--bundle", _BUNDLE, "sandbox"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": "/"})


def _bundle(python: list[str]) -> dict[str, object]:
    """Return an OCI runtime specification: a read-only root, no network, the capabilities that init needs and no
    more.
    """
    sets = dict.fromkeys(("bounding", "effective", "permitted"), _CAPABILITIES)
    return {
        "ociVersion": "1.0.2",
        "hostname": "sandbox",
        "root": {"path": ROOT, "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": python,
            "env": [f"{name}={value}" for name, value in os.environ.items()],
            "cwd": "/",
            "capabilities": sets,
            "noNewPrivileges": True,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": ENDS, "type": "bind", "source": _HERE, "options": ["rw"]},
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]},
    }
