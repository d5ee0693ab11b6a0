"""The prefork process: it has imported what all others need, and becomes each of them by forking.

Six Python processes that start at once each import the same libraries; here that happens once, while Postgres starts.
It stays single-threaded, so that forking is safe, and does nothing else: for every byte on its socket it forks, and it
answers when that process has been spawned and when it has ended. With the byte comes a pipe that holds the
``SpawnRequest``, which the fork reads itself: a request holds keys that the next fork must not find in its memory.

``python -m services.host.prefork_process FD MODULE... PADDING``: what it imports in addition, and memory for the
command lines of the forks.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.host import bind_mounts
from services.host.groups import DELEGATED, delegate_groups

#: What those load where it is installed and do not need: structlog and httpx for a terminal, redis-py for its metrics.
#: A process that traces imports OpenTelemetry itself.
_OPTIONAL = ("opentelemetry", "pygments", "rich")
#: What several processes of the platform import, or all; never a library that starts threads. A page that none of them
#: writes to is in memory once.
_COMMON = (
    "shared.jobs.worker", "shared.jobs.record.queries", "shared.jobs.record.submission", "shared.jobs.record.webhooks",
    "shared.jobs.upkeep.deletion", "shared.llm.compact", "shared.llm.tagged", "shared.plugins",
    "shared.evaluations.shadows", "shared.flows.session", "shared.flows.tools.table", "shared.stacks.proposals",
    "billiard.dummy", "billiard.pool", "celery.apps.worker", "celery.app.amqp", "celery.app.control",
    "celery.app.events", "celery.app.log", "celery.backends.base", "celery.concurrency.thread",
    "celery.events.receiver", "celery.fixups.django", "celery.worker.autoscale", "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery", "celery.worker.control", "celery.worker.loops", "celery.worker.pidbox",
    "celery.worker.strategy", "kombu.mixins", "kombu.transport.redis",
    "anyio", "encodings.idna", "h2.connection", "httpcore", "httpcore2", "httpx", "httpx2", "stringprep", "truststore",
)  # fmt: skip
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME = 1, 4, 15


@dataclass(frozen=True)
class SpawnRequest:
    """A process to spawn: ``python -m module arguments``, its output appended to ``log``.

    Beyond ``memory_mb`` it gets a MemoryError, or ends: the rest of the machine is protected.
    """

    module: str
    arguments: list[str]
    env: dict[str, str]
    cwd: str
    log: str
    memory_mb: int | None
    uid: int | None = None  #: as root: become this user
    gid: int | None = None
    hidden: Sequence[str] = ()  #: folders that it may not enter then ...
    shown: Sequence[str] = ()  #: ... and what it sees of them
    read_only: Sequence[str] = ()  #: folders that it may not write to


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        import_common(sys.argv[2:-1])
        request = serve(connection)
    if request is not None:
        sys.argv[1:] = request.arguments
        run(request.module)


def run(module: str) -> None:
    """Run the program; invalid settings end it with their own status and one line in its log."""
    from shared import settings  # noqa: PLC0415 - imported before by what is common

    settings.run(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def import_common(additions: Sequence[str] = ()) -> None:
    gc.disable()  # the imports make half a million objects, and none of them is garbage: a fifth of the time
    missing: dict[str, Any] = dict.fromkeys(_OPTIONAL)
    sys.modules.update(missing)  # their import is an ImportError until they are removed
    _import(_COMMON)
    for name in missing:
        del sys.modules[name]
    _import(additions)
    with suppress(ImportError):
        _read_certificates()
    gc.freeze()  # memory that the children share is not touched again
    gc.enable()


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        with suppress(ImportError):  # an image may carry less
            importlib.import_module(name)


def _read_certificates() -> None:
    """Read the certificates that most clients trust, which takes a megabyte each time."""
    import httpx  # noqa: PLC0415 - as all that is common
    import httpx2  # noqa: PLC0415

    from shared.llm.wires import transport  # noqa: PLC0415

    for http in (httpx, httpx2):
        transport.tls(http)


def serve(connection: socket.socket) -> SpawnRequest | None:
    """Fork for every request; returns None when the supervisor has ended, and the request in each child."""
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getpid()
    while True:
        readable, _, _ = select.select([connection, wake], [], [])
        if wake in readable:
            wake.recv(4096)
            _reap(connection)
        if connection in readable:
            byte, pipes, _, _ = socket.recv_fds(connection, 1, 1)
            if not byte:
                return None
            pid = os.fork()
            if pid == 0:
                for end in (wake, woken):
                    end.close()
                with os.fdopen(pipes[0]) as pipe:
                    request = SpawnRequest(**json.load(pipe))
                _become(request, parent)
                return request
            os.close(pipes[0])
            _report(connection, {"spawned": pid})


def _reap(connection: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _report(connection, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _become(request: SpawnRequest, parent: int) -> None:
    """Set up session, name, output and environment, in the child."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_NAME, request.module.rpartition(".")[2].encode()[:15], 0, 0, 0)
        _set_command_line(f"{sys.executable} -m {' '.join([request.module, *request.arguments])}")
    if request.memory_mb is not None:
        # The soft limit: a sandbox below sets its own.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (request.memory_mb << 20, hard))
    output = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    if request.uid is not None and request.gid is not None:
        if request.module == DELEGATED:
            delegate_groups(request.uid)
        bind_mounts.show(request.hidden, request.shown, request.read_only)
        bind_mounts.drop(request.uid, request.gid)
        os.umask(0o007)  # what is written is the group's too, which all processes of the installation share
    if sys.platform == "linux":
        # After the change of user, which clears both: who ends with us, and that it may look into itself.
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.env)


def _set_command_line(command: str) -> None:
    """Let ``ps`` show what the process is, in the memory that the prefork process's own arguments take."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        line = command.encode().replace(b" ", b"\0")[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, line, len(line))


def _report(connection: socket.socket, event: dict[str, int]) -> None:
    connection.sendall(json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main()
