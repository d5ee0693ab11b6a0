"""Look at a running installation, and end it, from another process."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from services.host.home import Home, ServiceStatus, Status


def look(home: Home) -> Status | None:
    """The installation as it is now: what the supervisor wrote, corrected by which processes are alive."""
    status = home.read_status()
    if status is None:
        return None
    if home.holder() is None:
        stopped = [ServiceStatus(service.name, None, "stopped", service.started_at) for service in status.services]
        return replace(status, services=tuple(stopped), supervisor=None, complete=False)
    corrected = [
        service if service.pid is None or alive(service.pid) else replace(service, pid=None, state="restarting")
        for service in status.services
    ]
    return replace(status, services=tuple(corrected))


def end(home: Home, seconds: float = 60) -> bool:
    """Ask the supervisor to end everything and wait for it; False when none was running."""
    pid = home.holder()
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while home.holder() == pid:
        if time.monotonic() > deadline:
            # Its children are told by the kernel when it goes.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs under that pid and is not merely waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
