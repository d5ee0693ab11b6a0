"""An embedded server: a child process with its own folder, readiness, graceful stop and clean-up."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from services.host import child

#: The whole path of a unix socket has to fit into about 100 bytes.
_LONGEST = 100
_SHORT = Path("/tmp")  # noqa: S108


class Server(ABC):
    """Also a ``Program`` of the supervisor."""

    name: ClassVar[str]
    grace_seconds: ClassVar[float]  #: between ``stop_signal`` and SIGKILL
    stop_signal: ClassVar[signal.Signals]  #: what ends it without losing anything

    def __init__(self, folder: Path, clients: int | None = None) -> None:
        """Set up the server; ``clients``: a group that may connect too, with the passwords that the server requires."""
        self._clients = clients
        self.folder = folder.resolve()
        self.log = self.folder / f"{self.name}.log"
        self._user = child.server_user()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def begin(self) -> subprocess.Popen[bytes]:
        """Start without waiting."""

    @abstractmethod
    def is_ready(self) -> bool: ...

    @abstractmethod
    def clean_up(self) -> None:
        """Remove what a stopped server left outside its folder."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout: float = 30) -> None:
        """Start it and return when it answers."""
        self.begin()
        self.await_ready(timeout)

    def await_ready(self, timeout: float = 30) -> None:
        """Wait until it is ready. Raises: RuntimeError when the server ends or does not answer in time."""
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if not self.running or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name.title()} did not start; the end of its log:\n{child.tail(self.log)}")
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop it so that no data is lost."""
        if self._process is not None:
            child.stop(self._process, self.stop_signal, self.grace_seconds)
            self._process = None
        self.clean_up()

    def kill(self) -> None:
        """Simulate a crash: what was not yet on the disk is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _admit_clients(self, sockets: Path) -> None:
        """Give the folder of the sockets to the server, and open it to the group of its clients."""
        if self._user.mode != "drop":
            return
        os.chown(sockets, self._user.uid, self._user.gid if self._clients is None else self._clients)
        sockets.chmod(0o700 if self._clients is None else 0o710)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def socket_folder(folder: Path, longest_name: str) -> Path:
    """``folder/run`` when its sockets' paths fit, else a folder under /tmp whose name follows from ``folder``.

    Raises: RuntimeError when another user owns that name.
    """
    near = folder / "run"
    if len(os.fsencode(near / longest_name)) <= _LONGEST:
        return near
    short = _SHORT / f"assay-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if short.is_symlink() or (short.exists() and not _ours(short)):
        raise RuntimeError(f"{short} belongs to another user; choose a shorter ASSAY_HOME")
    short.mkdir(mode=0o700, exist_ok=True)
    return short


def remove_socket_folder(folder: Path) -> None:
    """Remove a socket folder that is outside its installation."""
    if folder.parent == _SHORT and folder.name.startswith("assay-"):
        shutil.rmtree(folder, ignore_errors=True)


def _ours(folder: Path) -> bool:
    return os.geteuid() == 0 or folder.stat().st_uid == os.geteuid()
