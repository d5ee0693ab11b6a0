"""The warm parent: it has every library in memory, and forks a fresh sandbox on request."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import site
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn, cast

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.init import Init, Means
from services.execution.sandbox.guest.isolate import NAMESPACES, map_user, mount_filesystems, resize_store
from services.execution.sandbox.guest.meter import Meter
from services.execution.sandbox.protocol.control import SocketControl
from services.execution.sandbox.protocol.wire import Message, receive, send

_LARGE = 1 << 21  #: bytes of a large page


def serve(control: socket.socket) -> None:
    """Load the requested modules, then fork a container per request until the other side is gone."""
    wanted, _, _ = receive(control)
    if wanted is None:
        return
    become_warm(cast("list[str]", wanted["warm"]), str(wanted["root"]))
    gather_memory()
    who = os.getuid(), os.getgid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a sandbox's exit status is not read
    send(control, {"t": "warm"})
    while True:
        message, descriptors, _ = receive(control)
        if message is None:
            return
        try:
            if kernel.fork_into(NAMESPACES) == 0:
                _run_init(message, descriptors, control, *who)
        except OSError as error:  # report to the waiting side that the sandbox does not come
            _complain(error)
        for descriptor in descriptors:
            os.close(descriptor)


def become_warm(modules: Sequence[str], root: str) -> None:
    """Import the modules, and have those that can load libraries do so; the code does not import from ``root``."""
    for name in modules:
        with contextlib.suppress(ImportError):  # it needs libraries that a sandbox may do without
            module = importlib.import_module(name)
            if hasattr(module, "load"):
                module.load()
    sys.path[:] = [path for path in sys.path if path != root]
    sys.modules.pop("shared", None)  # the empty parent of a program of ours; code may have a module of this name
    site.setquit()
    site.sethelper()
    gc.collect()
    gc.freeze()


def gather_memory() -> None:
    """Collapse what the libraries allocated to huge pages: a fork copies an entry for each page, and its end drops
    them.
    """
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as handle:
        area: list[str] = []
        for line in handle:
            name, *rest = line.split()
            if not name.endswith(":"):
                area = [name, *rest]
            elif name == "Anonymous:" and area[1] == "rw-p" and area[5:] in ([], ["[heap]"]):
                start, end = (int(part, 16) for part in area[0].split("-"))
                # An area that is mostly empty, like a thread's stack, would only grow.
                if int(rest[0]) << 10 > (end - start) * 3 // 4:
                    _gather(-(-start // _LARGE) * _LARGE, end)


def _gather(start: int, end: int) -> None:
    for place in range(start, end - _LARGE + 1, _LARGE):
        with contextlib.suppress(OSError):  # the kernel is too old, or has none to spare
            kernel.gather_pages(place, _LARGE)


def _run_init(message: Message, descriptors: list[int], control: socket.socket, uid: int, gid: int) -> NoReturn:
    status = 1
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        map_user(uid, gid)
        # Its own process group: a signal to the sandbox's group is not for the job.
        os.setsid()
        means = Means(SocketControl(socket.socket(fileno=descriptors[0])), Meter(mount_filesystems()), resize_store)
        Init(descriptors[1:], message, means).run()
        status = 0
    except BaseException as error:
        _complain(error)
    finally:
        os._exit(status)


def _complain(error: BaseException) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"init: {type(error).__name__}: {error}\n".encode())


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    serve(socket.socket(fileno=int(sys.argv[1])))
