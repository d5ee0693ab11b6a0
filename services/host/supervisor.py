"""``assay up``: starts the servers, migrates the database, starts every process, and restarts what ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType

from services.host import child, registry, unprivileged
from services.host.folder import Status
from services.host.groups import remove_groups
from services.host.installation import Installation
from services.host.prefork import Prefork
from services.host.programs import Program, Service
from services.host.rotation import rotate

_ROTATION_SECONDS = 30.0


class StopRequested(Exception):
    """A signal requests the end of the installation."""


class AlreadyRunning(Exception):
    """Another supervisor holds this installation."""


class Supervisor:
    """Runs an installation until it is stopped; single-threaded: children end with the thread that started them."""

    def __init__(self, installation: Installation, on_ready: Callable[[Status], None] = lambda status: None) -> None:
        self._installation = installation
        self._folder = installation.folder
        self._stores = installation.stores
        self._on_ready = on_ready
        self._services: list[Service] = []
        self._rotation_due = 0.0
        self._status = Status(
            installation.url,
            self._folder.api_key,
            self._stores.database_url,
            self._stores.redis_url,
            why_root=installation.accounts.why_not,
            why_port=installation.why_port,
        )
        self._signals = _Signals(installation.prefork)

    def run(self) -> None:
        """Start everything, keep it running, and end it all at SIGTERM or SIGINT.

        Raises: AlreadyRunning; RuntimeError when it cannot start.
        """
        self._folder.make()
        lock = self._folder.lock()
        if lock is None:
            raise AlreadyRunning
        with lock, self._signals:
            try:
                self._begin()
                self._keep()
            except StopRequested:
                pass
            finally:
                self._end()

    def _begin(self) -> None:
        self._installation.prefork.start()  # it imports while the servers start
        servers = self._start(self._installation.servers)
        self._until(lambda: all(server.state == "ready" for server in servers), "the servers are ready", 60)
        self._prepare()
        accounts = self._installation.accounts
        if accounts.group is not None:
            unprivileged.hand_over(self._folder, accounts.group)
        remove_groups()
        self._start(self._installation.workers)
        self._status = replace(self._status, api_key=self._folder.api_key, complete=True)
        self._folder.write_settings(self._installation.settings)
        registry.note(self._folder.path, os.environ)
        self._write()

    def _start(self, programs: Sequence[Program]) -> list[Service]:
        started = [Service(program) for program in programs]
        for service in started:
            self._services.append(service)
            service.start()
        self._write()
        return started

    def _prepare(self) -> None:
        """Bring the database up to date, unless it is, in a process of its own: this one stays small."""
        log = self._folder.logs / "bootstrap.log"
        process = self._installation.prefork.spawn(
            "services.host.bootstrap", [], self._installation.env, self._folder.path, log
        )
        try:
            self._until(lambda: process.poll() is not None, "the database is prepared", 120)
        finally:
            child.stop(process, signal.SIGTERM, 5)
        if process.returncode != 0:
            raise RuntimeError(f"the database could not be prepared:\n{child.tail(log, 3)}")

    def _keep(self) -> None:
        announced = False
        while True:
            self._watch()
            if not announced and self._status.ready:
                announced = True
                self._on_ready(self._status)
            self._rotate_logs()
            # The end of a process wakes this at once; while something starts, look often.
            self._signals.wait(1.0 if self._status.ready else 0.03)

    def _rotate_logs(self) -> None:
        now = time.monotonic()
        if now >= self._rotation_due:
            self._rotation_due = now + _ROTATION_SECONDS
            logs = {service.program.log for service in self._services} | set(self._folder.logs.glob("*.log"))
            rotate(sorted(logs), self._installation.log_bytes)

    def _watch(self) -> None:
        if any([service.watch() for service in self._services]):  # noqa: C419 - every one of them
            self._write()
            for service in self._services:
                if service.wrong_settings:
                    raise RuntimeError(f"{service.program.name}: {child.tail(service.program.log, 1)}")

    def _until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            self._watch()
            if condition():
                return
            failed = [service for service in self._services if service.state == "restarting"]
            if failed or time.monotonic() > deadline:
                ends = [f"{each.program.name} did not start:\n{child.tail(each.program.log, 3)}" for each in failed]
                raise RuntimeError(f"gave up before {what}: " + ("\n".join(ends) or "they do not answer"))
            self._signals.wait(0.01)

    def _end(self) -> None:
        """Workers first, all at once and with their grace; then the servers."""
        servers = {id(program) for program in self._installation.servers}
        workers = [service for service in self._services if id(service.program) not in servers]
        rest = [service for service in self._services if id(service.program) in servers]
        for group in (workers, rest):
            if group is rest:
                self._installation.prefork.stop()
            requested = time.monotonic()
            for service in group:
                service.request_stop()
            for service in group:
                service.await_end(requested + service.program.grace_seconds)
            self._write()
        remove_groups()

    def _write(self) -> None:
        self._status = replace(
            self._status, services=tuple(service.status for service in self._services), supervisor=os.getpid()
        )
        self._folder.write_status(self._status)


class _Signals:
    """Turns signals into a wake-up; a stop signal becomes ``StopRequested`` where it is safe."""

    def __init__(self, prefork: Prefork) -> None:
        self._stop_requested = False
        self._prefork = prefork

    def __enter__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        self._before = {
            number: signal.signal(number, self._note)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        }
        self._fd_before = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)

    def __exit__(self, *error: object) -> None:
        signal.set_wakeup_fd(self._fd_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._ours.close()
        self._theirs.close()

    def wait(self, seconds: float) -> None:
        """Sleep until a signal or the time is over. Raises: StopRequested."""
        if not self._stop_requested:
            ends = [end.fileno() for end in (self._ours, self._prefork)]
            select.select([end for end in ends if end >= 0], [], [], seconds)
        try:
            while self._ours.recv(4096):
                pass
        except BlockingIOError:
            pass
        if self._stop_requested:
            self._stop_requested = False
            raise StopRequested

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stop_requested = True
