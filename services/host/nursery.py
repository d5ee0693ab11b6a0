"""A process that has imported what all others need, and becomes each of them by forking.

Six Python processes that start at once each import the same libraries; here that happens once, while Postgres starts.
It stays single-threaded, so that forking is safe, and does nothing else: a request on its socket is a process to begin,
and it says when one has begun and when one has ended.

``python -m services.host.nursery FD ...``; the rest of its arguments is room for the names of what it becomes.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: What every process of the platform imports; never a library that starts threads of its own.
_COMMON = (
    "shared.jobs.process", "shared.jobs.queries", "celery.bin.worker", "celery.apps.worker",
    "celery.concurrency.thread", "kombu.transport.redis", "migrations.upgrade", "alembic.command",
)  # fmt: skip
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


@dataclass(frozen=True)
class Birth:
    """A process to begin."""

    module: str
    arguments: list[str]
    env: dict[str, str]
    cwd: str
    log: str


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as line:
        import_common()
        birth = serve(line)
    if birth is not None:
        sys.argv[1:] = birth.arguments
        runpy.run_module(birth.module, run_name="__main__", alter_sys=True)


def import_common() -> None:
    gc.disable()  # imports make half a million objects that stay: looking through them again and again is a fifth of it
    for name in _COMMON:
        with suppress(ImportError):  # an image may carry less
            importlib.import_module(name)
    gc.freeze()  # memory that the children share is not touched again
    gc.set_threshold(20_000, 20, 20)  # what they import themselves stays as well
    gc.enable()


def serve(line: socket.socket) -> Birth | None:
    """Begin what is asked for; answers None when the supervisor is gone, and a birth in each child."""
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = line.makefile("r")
    ours = os.getpid()
    while True:
        readable, _, _ = select.select([line, wake], [], [])
        if wake in readable:
            wake.recv(4096)
            _bury(line)
        if line in readable:
            text = requests.readline()
            if not text:
                return None
            birth = Birth(**json.loads(text))
            pid = os.fork()
            if pid == 0:
                for end in (wake, woken):
                    end.close()
                _begin(birth, ours)
                return birth
            _say(line, {"begun": pid})


def _bury(line: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _say(line, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _begin(birth: Birth, parent: int) -> None:
    """In the child: take leave of the nursery."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        libc.prctl(_PR_SET_NAME, birth.module.rpartition(".")[2].encode()[:15], 0, 0, 0)
        _rename(f"{sys.executable} -m {' '.join([birth.module, *birth.arguments])}")
        if os.getppid() != parent:
            os._exit(1)
    output = os.open(birth.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.chdir(birth.cwd)
    os.environ.clear()
    os.environ.update(birth.env)


def _rename(command: str) -> None:
    """Let ``ps`` show what the process is, in the room that the nursery's own arguments take."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        words = command.encode().replace(b" ", b"\0")[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, words, len(words))


def _say(line: socket.socket, what: dict[str, int]) -> None:
    line.sendall(json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
