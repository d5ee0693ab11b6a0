"""The programs of an installation, and each under supervision: started, watched, started again."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from services.host.child import RunningProcess
from services.host.folder import ServiceStatus, State
from services.host.prefork import Prefork
from services.host.unprivileged import Account
from shared.settings import WRONG_SETTINGS

#: A process that keeps dying is started again after growing pauses, but never later than this.
_LONGEST_PAUSE = 3.0
_STEADY = 10.0  #: Alive for so long, it counts as healthy again.


class Program(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def grace_seconds(self) -> float: ...
    @property
    def stop_signal(self) -> signal.Signals: ...
    def begin(self) -> RunningProcess: ...
    def is_ready(self) -> bool: ...
    @property
    def log(self) -> Path: ...
    def clean_up(self) -> None:
        """Clean up after the end."""
        ...


@dataclass(frozen=True)
class Worker:
    """A Python process of the platform."""

    name: str
    prefork: Prefork
    module: str
    env: Mapping[str, str]
    cwd: Path
    log: Path
    ready_file: Path
    http: tuple[str, int, str] | None  #: request this (host, port, path) instead of checking for the file
    grace_seconds: float
    arguments: Sequence[str] = ()
    memory_mb: int | None = None
    account: Account | None = None  #: as root: that it runs under
    stop_signal: signal.Signals = signal.SIGTERM

    def begin(self) -> RunningProcess:
        self.ready_file.unlink(missing_ok=True)
        return self.prefork.spawn(
            self.module, self.arguments, self.env, self.cwd, self.log, self.memory_mb, self.account
        )

    def is_ready(self) -> bool:
        return _answers(*self.http) if self.http is not None else self.ready_file.exists()

    def clean_up(self) -> None:
        self.ready_file.unlink(missing_ok=True)


class Service:
    """One supervised program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.state: State = "stopped"
        self._process: RunningProcess | None = None
        self._started_at: str | None = None
        self._begun = 0.0
        self._deaths = 0
        self._not_before = 0.0
        self.wrong_settings = False  #: it ended because of them; restarting it does not help

    def start(self) -> None:
        self._begun = time.monotonic()
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._process = self.program.begin()
        self.state = "starting"

    def watch(self) -> bool:
        """Check the process, and start it again when it is due; whether anything changed."""
        now = time.monotonic()
        if self.state in ("starting", "ready") and self._process is not None and self._process.poll() is not None:
            self._died(now)
            return True
        if self.state == "restarting" and now >= self._not_before:
            self.start()
            return True
        if self.state == "starting" and self.program.is_ready():
            self.state = "ready"
            return True
        return False

    def request_stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self.program.stop_signal)

    def await_end(self, deadline: float) -> None:
        """Wait for the end, send SIGKILL after ``deadline``, and end what is left of the process's session."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._end_session()
        self.program.clean_up()
        self._process, self.state = None, "stopped"

    @property
    def status(self) -> ServiceStatus:
        alive = self._process is not None and self.state in ("starting", "ready")
        pid = self._process.pid if alive and self._process is not None else None
        return ServiceStatus(self.program.name, pid, self.state, self._started_at)

    def _died(self, now: float) -> None:
        self.wrong_settings = self._process is not None and self._process.poll() == WRONG_SETTINGS
        self._end_session()
        self._deaths = 1 if now - self._begun > _STEADY else self._deaths + 1
        self._not_before = now if self._deaths <= 2 else now + min(0.25 * 2 ** (self._deaths - 3), _LONGEST_PAUSE)
        self.state = "restarting"

    def _end_session(self) -> None:
        """End whatever the process left behind in its own session."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _answers(host: str, port: int, path: str) -> bool:
    line = http.client.HTTPConnection(host, port, timeout=1)
    try:
        line.request("GET", path)
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
