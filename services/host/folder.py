"""The folder of an installation: its lock, its credentials, and the last status of its processes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Literal

from pydantic import TypeAdapter

#: Of root's installation: the servers, which are not root, pass through to their own folders.
_SEARCHED = 0o711
State = Literal["starting", "ready", "restarting", "stopped"]


@dataclass(frozen=True)
class ServiceStatus:
    name: str
    pid: int | None
    state: State
    started_at: str | None


@dataclass(frozen=True)
class Status:
    """What ``assay status`` shows, as the supervisor wrote it last."""

    url: str
    api_key: str | None
    database_url: str
    redis_url: str
    services: Sequence[ServiceStatus] = field(default_factory=tuple)
    supervisor: int | None = None
    complete: bool = False  #: all processes have been started once
    why_root: str = ""  #: which processes stay root, and why
    why_port: str = ""  #: why the gateway listens on another port than usual

    @property
    def ready(self) -> bool:
        return self.complete and all(service.state == "ready" for service in self.services)


class InstallationFolder:
    """The paths under ASSAY_HOME; only the supervisor writes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.expanduser().absolute()
        self.logs = self.path / "logs"
        self.run = self.path / "run"
        self.blobs = self.path / "blobs"
        self._lock = self.path / "lock"
        self._status = self.path / "status.json"
        self._credentials = self.path / "credentials.json"
        self._settings = self.path / "settings.json"

    def make(self) -> None:
        """Create the folders, for the owner only."""
        for folder in (self.path, self.logs, self.run, self.blobs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(_SEARCHED if folder is self.path and os.geteuid() == 0 else 0o700)
        for log in self.logs.iterdir():
            log.chmod(0o600)

    def secret(self, name: str) -> str:
        """Return a password, generated on first use; concurrent callers get the same one."""
        folder = self.path / "secrets"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / name
        draft = folder / f".{name}.{os.getpid()}"
        if not file.exists():
            _write_private(draft, secrets.token_hex(24))
            with contextlib.suppress(FileExistsError):
                os.link(draft, file)
            draft.unlink()
        return file.read_text()

    def lock(self) -> IO[str] | None:
        """Hold the installation until the file is closed; None when another process holds it."""
        file = os.fdopen(os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        if not _locked(file):
            file.close()
            return None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        return file

    def holder(self) -> int | None:
        """Return the pid of the running supervisor, or None."""
        try:
            with self._lock.open("r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    text = file.read().strip()
                    return int(text) if text.isdecimal() else _pid_soon(self._lock)
        except FileNotFoundError:
            pass
        return None

    def write_status(self, status: Status) -> None:
        _write_secret(self._status, asdict(status))

    def read_status(self) -> Status | None:
        try:
            return TypeAdapter(Status).validate_json(self._status.read_bytes())
        except FileNotFoundError:
            return None

    def write_settings(self, digests: Mapping[str, str]) -> None:
        _write_secret(self._settings, dict(digests))

    def read_settings(self) -> dict[str, str] | None:
        """Return the settings that the supervisor was started with: see ``started_with``."""
        try:
            return TypeAdapter(dict[str, str]).validate_json(self._settings.read_bytes())
        except FileNotFoundError:
            return None

    @property
    def api_key(self) -> str | None:
        try:
            return TypeAdapter(dict[str, str]).validate_json(self._credentials.read_bytes())["api_key"]
        except FileNotFoundError:
            return None

    def keep_api_key(self, key: str) -> None:
        _write_secret(self._credentials, {"api_key": key})


def current_status(folder: InstallationFolder) -> Status | None:
    """Return the current state: what the supervisor wrote, corrected by which processes are alive."""
    status = folder.read_status()
    if status is None:
        return None
    if folder.holder() is None:
        stopped = [ServiceStatus(service.name, None, "stopped", service.started_at) for service in status.services]
        return replace(status, services=tuple(stopped), supervisor=None, complete=False)
    corrected = [
        service if service.pid is None or alive(service.pid) else replace(service, pid=None, state="restarting")
        for service in status.services
    ]
    return replace(status, services=tuple(corrected))


def stop(folder: InstallationFolder, seconds: float = 60) -> bool:
    """Stop the supervisor and wait for its end; False when none was running."""
    pid = folder.holder()
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while folder.holder() == pid:
        if time.monotonic() > deadline:
            # The kernel ends its children.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    """Return whether a process with that pid runs and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def _locked(file: IO[str]) -> bool:
    """Take the lock, unless another process holds it: processes that only check hold it shared, and only briefly."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(0.01)
    return False


def _pid_soon(lock: Path) -> int | None:
    """Return the pid in a lock file whose holder may still be writing it."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        text = lock.read_text().strip()
        if text.isdecimal():
            return int(text)
        time.sleep(0.01)
    return None


def _write_secret(path: Path, content: object) -> None:
    """Replace the file whole, readable by its owner only."""
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    _write_private(beside, json.dumps(content, indent=2))
    beside.replace(path)


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
