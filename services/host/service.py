"""One supervised program: started, watched, started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from datetime import UTC, datetime

from services.host.child import Running
from services.host.home import ServiceStatus, State
from services.host.programs import Program

#: A process that keeps dying is started again after growing pauses, but never later than this.
_LONGEST_PAUSE = 3.0
_STEADY = 10.0  #: Alive for so long, it counts as healthy again.


class Service:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.state: State = "stopped"
        self._process: Running | None = None
        self._started_at: str | None = None
        self._begun = 0.0
        self._deaths = 0
        self._not_before = 0.0

    def start(self) -> None:
        self._begun = time.monotonic()
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._process = self.program.begin()
        self.state = "starting"

    def watch(self) -> bool:
        """Look after the process; whether anything changed."""
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

    def ask_to_end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self.program.ending)

    def await_end(self, deadline: float) -> None:
        """Wait for the end, and insist after ``deadline``; then nothing of the process's session is left."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._end_session()
        self.program.leave()
        self._process, self.state = None, "stopped"

    @property
    def status(self) -> ServiceStatus:
        alive = self._process is not None and self.state in ("starting", "ready")
        pid = self._process.pid if alive and self._process is not None else None
        return ServiceStatus(self.program.name, pid, self.state, self._started_at)

    def _died(self, now: float) -> None:
        self._end_session()
        self._deaths = 1 if now - self._begun > _STEADY else self._deaths + 1
        self._not_before = now if self._deaths <= 2 else now + min(0.25 * 2 ** (self._deaths - 3), _LONGEST_PAUSE)
        self.state = "restarting"

    def _end_session(self) -> None:
        """End whatever the process left behind in its own session."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
