"""The process that ``shared.bounded_process`` forks from: it has the code loaded, and no secret.

It starts with an empty environment and two descriptors, and forks once for each task. A fork sets its own limits, reads
its argument, works, and ends; nothing of one task is left for the next one. The server ends with the process that
started it, and a fork ends when its caller lets go of its socket.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_LIBC = ctypes.CDLL(None)
#: Exit statuses of a fork that names its reason.
NO_MEMORY, NO_ROOM = 71, 72
LENGTH = struct.Struct("!Q")
#: What a fork says of its end on its caller's socket: the exit status, or minus the signal.
STATUS = struct.Struct("!i")
_MAX_REQUEST_BYTES = 4096
_MAX_FILES = 64


def serve(requests: socket.socket) -> None:
    """Fork for every request until the other side closes. A request brings the caller's socket, and two files or none.

    A request is one message of JSON: ``task`` (module and name), ``bounds``.
    """
    server = _ForkServer(requests)
    while server.step():
        pass


class _ForkServer:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._poll = select.epoll()
        self._poll.register(requests, select.EPOLLIN)
        self._callers: dict[int, tuple[socket.socket, int, int]] = {}  #: by descriptor: socket, pid, descriptor of it
        self._ends: dict[int, int] = {}  #: the caller's descriptor by that of the fork

    def step(self) -> bool:
        """Wait for the next event and handle it; False once no client is left."""
        for descriptor, _ in self._poll.poll():
            if descriptor == self._requests.fileno():
                if not self._accept():
                    return False
            elif descriptor in self._ends:
                self._reap(self._ends.pop(descriptor), descriptor)
            elif descriptor in self._callers:  # its other end is closed
                self._poll.unregister(descriptor)
                os.kill(self._callers[descriptor][1], signal.SIGKILL)
        return True

    def _accept(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._requests, _MAX_REQUEST_BYTES, 3)
        if not message:
            return False
        caller = socket.socket(fileno=descriptors[0])
        try:
            request = json.loads(message)
            task = getattr(importlib.import_module(request["task"][0]), request["task"][1])
            gc.freeze()
            pid = os.fork()
        except Exception:  # its caller sees that the socket closes
            caller.close()
            _close(descriptors[1:])
            return True
        if pid == 0:
            self._leave()
            _run(caller, task, request["bounds"], descriptors[1:])
        _close(descriptors[1:])
        process = os.pidfd_open(pid)
        self._callers[caller.fileno()] = (caller, pid, process)
        self._ends[process] = caller.fileno()
        self._poll.register(process, select.EPOLLIN)
        self._poll.register(caller, 0)  # closing is reported always
        return True

    def _leave(self) -> None:
        """Close, in the fork, what belongs to the server and its other forks."""
        self._requests.close()
        self._poll.close()
        for caller, _, process in self._callers.values():
            caller.close()
            os.close(process)

    def _reap(self, descriptor: int, process: int) -> None:
        caller, pid, _ = self._callers.pop(descriptor)
        self._poll.unregister(process)
        os.close(process)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(FileNotFoundError):
            self._poll.unregister(caller)
        with suppress(OSError):  # the caller may be gone
            caller.settimeout(1.0)
            caller.sendall(STATUS.pack(status))
        caller.close()


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _run(caller: socket.socket, task: Callable[..., Any], bounds: dict[str, Any], files: list[int]) -> None:
    """Set the limits, read the argument, work, and end; runs in the fork."""
    status = 1
    try:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        limit(**bounds)
        argument = json.loads(receive(caller))
        if files:
            with os.fdopen(files[0], "rb") as source, os.fdopen(files[1], "wb") as output:
                answer = json.dumps(task(argument, source, output)).encode()
        else:
            answer = json.dumps(task(argument)).encode()
        caller.sendall(LENGTH.pack(len(answer)) + answer)
        status = 0
    except MemoryError:
        status = NO_MEMORY
    except BrokenPipeError:
        pass  # the caller is gone
    except OSError as error:
        status = NO_ROOM if error.errno in (errno.EFBIG, errno.ENOSPC) else 1
    finally:  # any other failure is reported by the status alone: its message may hold untrusted text
        os._exit(status)


def receive(connection: socket.socket) -> bytes:
    """Return one message with its length before it. Raises: EOFError."""
    size = LENGTH.unpack(_exactly(connection, LENGTH.size))[0]
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(min(size - len(received), 1 << 20))
        if not chunk:
            raise EOFError
        received += chunk
    return bytes(received)


def limit(memory_mb: int, cpu_seconds: float, output_mb: int, **_: object) -> None:
    """Bound this process from now on: memory beyond what it has, processor time, bytes of each file that it writes."""
    with open("/proc/self/statm") as sizes:
        begun = int(sizes.read().split()[0]) * resource.getpagesize()
    seconds = int(cpu_seconds) + 1
    for what, most in (
        (resource.RLIMIT_AS, begun + (memory_mb << 20)),
        (resource.RLIMIT_FSIZE, output_mb << 20),
        (resource.RLIMIT_NOFILE, _MAX_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # a signal, then the end
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)  # exactly; it ends the process, within a call of C, too


def _main() -> None:
    serve(socket.socket(fileno=0))


if __name__ == "__main__":
    _main()
