"""The supervisor's side of the nursery: processes that another process began for us."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from services.host import child
from services.host.environment import python_path
from services.host.nursery import Birth

_ROOM = "." * 160


class Nursery:
    """Begins processes quickly. Everything it began ends when it ends; the next one begins with a new nursery."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._rest = b""
        self._begun: deque[int] = deque()
        self._ended: dict[int, int] = {}
        self._living: set[int] = set()

    def fileno(self) -> int:
        """Readable when a process has ended; -1 when there is no nursery."""
        return self._line.fileno() if self._line is not None else -1

    def start(self) -> None:
        """Let it begin to import; nothing waits for that yet."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "services.host.nursery", str(theirs.fileno()), _ROOM]
            env = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": python_path(os.environ)}
            self._process = child.spawn(command, self._log, env=env, keep=[theirs.fileno()])
        self._line, self._rest = ours, b""

    def begin(self, module: str, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> Offspring:
        """Raises: RuntimeError when no process can be begun."""
        self.look()
        if self._line is None:
            self.start()
        assert self._line is not None
        birth = Birth(module, list(arguments), dict(env), str(cwd), str(log))
        with suppress(OSError):
            self._line.sendall(json.dumps(asdict(birth)).encode() + b"\n")
        deadline = time.monotonic() + 60
        while not self._begun:
            if self.fileno() < 0 or time.monotonic() > deadline:
                raise RuntimeError(f"{module} could not be begun:\n{child.tail(self._log, 5)}")
            self.look(1.0)
        pid = self._begun.popleft()
        return Offspring(self, pid)

    def look(self, seconds: float = 0) -> None:
        """Hear what has happened, waiting up to ``seconds`` for something."""
        if self._line is None or not select.select([self._line], [], [], seconds)[0]:
            return
        try:
            heard = self._line.recv(65536)
        except OSError:
            heard = b""
        if not heard:
            self._lost()
            return
        *lines, self._rest = (self._rest + heard).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "begun" in said:
                self._begun.append(said["begun"])
                self._living.add(said["begun"])
            else:
                self._living.discard(said["ended"])
                self._ended[said["ended"]] = said["status"]

    def status_of(self, pid: int) -> int | None:
        return self._ended.get(pid)

    def forget(self, pid: int) -> None:
        self._ended.pop(pid, None)

    def stop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._process is not None:
            child.stop(self._process, signal.SIGTERM, 5)
            self._process = None

    def _lost(self) -> None:
        """The nursery is gone, and the kernel has asked its children to end: insist."""
        for pid in self._living:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self._ended[pid] = -signal.SIGKILL
        self._living.clear()
        self.stop()


class Offspring:
    """A process that the nursery began."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._nursery.look()
            self.returncode = self._nursery.status_of(self.pid)
            if self.returncode is not None:
                self._nursery.forget(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises: subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self._nursery.look(0.05)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
