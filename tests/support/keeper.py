"""The process that owns what a test run shares, and ends all that the run started when pytest ends, however it ends.

``python -P -m tests.support.keeper FOLDER FD``: pytest holds the other end of its standard input, so the end of that
input is the end of the run. FD is its listening socket: a connection requests the run's Postgres, which starts with the
first of them.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psycopg

from services.host.postgres import Postgres

#: Names the run's folder to every process of the run, and marks what belongs to the run.
VARIABLE = "TEST_RUN_FOLDER"
TEMPLATE = "migrated"  #: database that is copied for each module
_GRACE_SECONDS = 5.0  #: between SIGTERM and SIGKILL
_MAX_SECONDS = 20.0
_MODULE, _ROOT = "tests.support.keeper", Path(__file__).parents[2]


class Process(NamedTuple):
    pid: int
    name: str
    start: str  #: distinguishes a process from a later one with the same number

    @property
    def stop_signal(self) -> signal.Signals:
        """A killed Postgres leaves shared memory behind, and at SIGTERM it waits for its clients."""
        return signal.SIGINT if self.name == "postgres" else signal.SIGTERM

    def runs(self) -> bool:
        with suppress(OSError):
            state, *fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return state != "Z" and fields[18] == self.start
        return False


class Keeper:
    """The keeper, as pytest's main process sees it."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="assay-test-", dir=_fastest()))
        folder.chmod(0o755)  # other users pass through
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        os.environ[VARIABLE] = str(folder)
        with (folder / "keeper.log").open("wb") as log, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(_socket(folder)))
            listener.listen(64)  # from now on tests may request, and wait for the keeper
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(folder), str(listener.fileno())],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=env, cwd=_ROOT, start_new_session=True,
                pass_fds=[listener.fileno()],
            )  # fmt: skip

    def stop(self) -> None:
        """End what the run left, and return when it has ended."""
        del os.environ[VARIABLE]
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_MAX_SECONDS + 60)


def run_folder() -> Path:
    """The folder of this run."""
    return Path(os.environ[VARIABLE])


def postgres_of(folder: Path) -> Postgres:
    """Return the run's Postgres, started or not."""
    return Postgres(folder / "postgres", durable=False)


def shared_postgres() -> Postgres:
    """Return the run's Postgres, with its template. Raises: RuntimeError when it cannot start."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(_socket(run_folder())))
        failure = connection.makefile().read()
    if failure:
        raise RuntimeError(f"the Postgres of the run did not start: {failure}")
    return postgres_of(run_folder())


def processes_of(folder: Path) -> set[Process]:
    """Return the processes that name the folder in their command or environment, and all below them."""
    mark, marked, parents = os.fsencode(folder), set[Process](), dict[Process, int]()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            state, parent, *fields = rest.split()
            command = (entry / "cmdline").read_bytes()
            if state == "Z" or _MODULE.encode() in command:  # a keeper ends by itself, when it has ended its run
                continue
            process = Process(int(entry.name), name, fields[17])
            parents[process] = int(parent)
            if mark in command or mark in (entry / "environ").read_bytes():
                marked.add(process)
    numbers = {process.pid for process in marked}
    while below := {each for each, parent in parents.items() if parent in numbers and each.pid not in numbers}:
        marked |= below
        numbers |= {process.pid for process in below}
    return marked


def end_all(folder: Path) -> None:
    """End every process of the run: by request at first, then by SIGKILL."""
    begun, requested = time.monotonic(), set[Process]()
    known = processes_of(folder)
    while known and time.monotonic() - begun < _MAX_SECONDS:
        patient = time.monotonic() - begun < _GRACE_SECONDS
        for process in known - requested if patient else known:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, process.stop_signal if patient else signal.SIGKILL)
        requested |= known
        time.sleep(0.05)
        known = {process for process in known if process.runs()} | processes_of(folder)


def main() -> None:
    folder = Path(sys.argv[1])
    with ExitStack() as servers, socket.socket(fileno=int(sys.argv[2])) as listener:
        servers.callback(shutil.rmtree, folder, ignore_errors=True)
        servers.callback(end_all, folder)
        start_postgres = cache(lambda: _start_postgres(folder, servers))
        while sys.stdin.buffer not in select.select([sys.stdin.buffer, listener], [], [])[0]:
            with listener.accept()[0] as connection:
                try:
                    start_postgres()
                except Exception as error:  # whatever it is, the tests that need the server fail with it
                    connection.sendall(repr(error).encode())


def _start_postgres(folder: Path, servers: ExitStack) -> None:
    """Start the run's Postgres and migrate its template."""
    from migrations import roles  # noqa: PLC0415
    from migrations.upgrade import upgrade  # noqa: PLC0415 - imports much, which a run without a database does not need

    server = servers.enter_context(postgres_of(folder))
    with psycopg.connect(server.url_of("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{TEMPLATE}"')
        upgrade(server.url_of(TEMPLATE))
        for service in roles.SERVICES:  # here once: roles belong to the whole server
            connection.execute(f"ALTER ROLE {roles.PREFIX}{service} LOGIN")
        connection.execute(f'ALTER DATABASE "{TEMPLATE}" WITH ALLOW_CONNECTIONS false')


def _socket(folder: Path) -> Path:
    return folder / "keeper.sock"


def _fastest() -> str:
    """Return memory where there is plenty (a container often has 64 MB): databases are made and thrown away here."""
    memory = Path("/dev/shm")
    plenty = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return str(memory) if plenty else "/tmp"


if __name__ == "__main__":
    main()
