"""The warm parent: it has every library in memory, and forks a fresh room whenever it is asked to."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import site
import socket
import sys

from services.execution.kernels import kernel_calls as kernel
from services.execution.kernels.isolate import enter_namespaces, mount_room
from services.execution.kernels.warden import Warden
from services.execution.kernels.warmth import load, warm_up
from services.execution.kernels.wire import Message, receive, send


def serve(control: socket.socket) -> None:
    """Fork a room per request until the other side is gone."""
    warm = load()
    warm_up(warm)
    sys.path[:] = [path for path in sys.path if path != "/runtime/kernels"]
    site.setquit()
    site.sethelper()
    for name in ("python.kernel", "python.soundness", "sql.kernel"):
        importlib.import_module(f"{__package__}.{name}")
    with contextlib.suppress(ImportError):  # it needs libraries that a box may do without
        importlib.import_module(f"{__package__}.reading.read")
    gc.collect()
    gc.freeze()
    send(control, {"t": "warm", "python": sys.version.split()[0], "libraries": warm})
    while True:
        message, descriptors, _ = receive(control)
        if message is None:
            return
        child = os.fork()
        if child == 0:
            _fork_room(message, descriptors, control)
        for descriptor in descriptors:
            os.close(descriptor)
        _reap()


def _reap() -> None:
    """The children leave at once; their own children, the wardens, live on under the box's first process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork_room(message: Message, descriptors: list[int], control: socket.socket) -> None:
    status = 1
    try:
        control.close()
        uid, gid = os.getuid(), os.getgid()
        enter_namespaces(uid, gid)
        if os.fork() == 0:
            # Its own process group: a signal to the box's group is not for the job.
            os.setsid()
            mount_room()
            Warden(descriptors, str(message["language"]), bool(message["memfd"])).guard()
        status = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"room: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    serve(socket.socket(fileno=int(sys.argv[1])))
