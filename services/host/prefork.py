"""The supervisor's side of prefork: processes that are forked from one which has done their imports already."""

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
from dataclasses import asdict, replace
from pathlib import Path

from services.host import child
from services.host.environment import python_path
from services.host.prefork_process import SpawnRequest
from services.host.unprivileged import Account

_PADDING = "." * 160
_SPAWN_SECONDS = 60


class Prefork:
    """Spawns processes quickly. All of them end when the prefork process ends; the next spawn starts a new one.

    ``imports``: modules that several of them are going to need, besides what all do.
    """

    def __init__(self, log: Path, imports: Sequence[str] = ()) -> None:
        self._log = log
        self._imports = imports
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._partial = b""  #: an incomplete line
        self._spawned: deque[int] = deque()
        self._ended: dict[int, int] = {}
        self._alive: set[int] = set()

    def fileno(self) -> int:
        """Readable when a process has ended; -1 when there is no prefork process."""
        return self._connection.fileno() if self._connection is not None else -1

    def start(self) -> None:
        """Let it begin to import; nothing waits for that yet."""
        ours, theirs = socket.socketpair()
        with theirs:
            module = "services.host.prefork_process"
            command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), *self._imports, _PADDING]
            env = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": python_path(os.environ)}
            self._process = child.spawn(command, self._log, env=env, keep=[theirs.fileno()])
        self._connection, self._partial = ours, b""

    def spawn(
        self,
        module: str,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        memory_mb: int | None = None,
        account: Account | None = None,
    ) -> PreforkedProcess:
        """Under the account, if one is given. Raises: RuntimeError when no process can be spawned."""
        self.poll()
        if self._connection is None:
            self.start()
        assert self._connection is not None
        request = SpawnRequest(module, list(arguments), dict(env), str(cwd), str(log), memory_mb)
        if account is not None:
            request = replace(request, **vars(account))
        with suppress(OSError):
            _hand_over(self._connection, json.dumps(asdict(request)).encode())
        deadline = time.monotonic() + _SPAWN_SECONDS
        while not self._spawned:
            if self.fileno() < 0 or time.monotonic() > deadline:
                raise RuntimeError(f"{module} could not be started:\n{child.tail(self._log, 5)}")
            self.poll(1.0)
        return PreforkedProcess(self, self._spawned.popleft())

    def poll(self, seconds: float = 0) -> None:
        """Read what the prefork process reports, waiting up to ``seconds`` for something."""
        if self._connection is None or not select.select([self._connection], [], [], seconds)[0]:
            return
        try:
            received = self._connection.recv(65536)
        except OSError:
            received = b""
        if not received:
            self._lost()
            return
        *lines, self._partial = (self._partial + received).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if "spawned" in event:
                self._spawned.append(event["spawned"])
                self._alive.add(event["spawned"])
            else:
                self._alive.discard(event["ended"])
                self._ended[event["ended"]] = event["status"]

    def take_status(self, pid: int) -> int | None:
        """Return the exit status of a process that has ended, once; None while it runs."""
        return self._ended.pop(pid, None)

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            child.stop(self._process, signal.SIGTERM, 5)
            self._process = None

    def _lost(self) -> None:
        """Kill the children after the prefork process has ended and the kernel has sent them SIGTERM."""
        for pid in self._alive:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self._ended[pid] = -signal.SIGKILL
        self._alive.clear()
        self.stop()


def _hand_over(connection: socket.socket, request: bytes) -> None:
    """Give the request to the process that is going to be forked; the prefork process never reads it."""
    read, write = os.pipe()
    with os.fdopen(write, "wb") as pipe:
        try:
            socket.send_fds(connection, [b"."], [read])
        finally:
            os.close(read)
        pipe.write(request)


class PreforkedProcess:
    """A process that was forked; what ``subprocess.Popen`` offers, as far as we need it."""

    def __init__(self, prefork: Prefork, pid: int) -> None:
        self._prefork = prefork
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._prefork.poll()
            self.returncode = self._prefork.take_status(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the status. Raises: subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self._prefork.poll(0.05)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
