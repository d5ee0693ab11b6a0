"""The process that ``shared.bounded_process`` forks from: it has the code loaded, and no secret.

It starts with an empty environment and two descriptors, and forks once for each task, ahead of it. A fork sets its own
limits, confines itself (``shared.confinement``), reads its argument, works, and ends; nothing of one task is left for
the next one. The server ends with the process that started it, and a fork ends when its caller lets go of its socket.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import importlib
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any, NamedTuple

from shared.confinement import Confinement

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_LIBC = ctypes.CDLL(None)
#: Exit statuses of a fork that names its reason.
NO_MEMORY, NO_ROOM = 71, 72
LENGTH = struct.Struct("!Q")
#: What follows an answer, or comes instead: the exit status of the fork, or minus the signal.
STATUS = struct.Struct("!i")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROGRAM = f"import sys; sys.path.insert(0, {_ROOT!r}); from shared.fork_server import main; main()"
#: All of a server. Arrow's own allocators reserve far more address space than they use. A pool of threads for every
#: core would take more memory than a task may on a large machine, and time from the other tasks.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "POLARS_MAX_THREADS": str(max(2, min(4, len(os.sched_getaffinity(0))))),
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "2",
    "ARROW_IO_THREADS": "2",
}
_MAX_REQUEST_BYTES = 4096
_MAX_FILES = 64
_REHEARSAL = {"text": "words", "numbers": [1, 2.5, None, True]}
#: The folder of a task's temporary files, by the server that made it.
_FOLDER_PREFIX = "assay-task-"
_FOLDER = re.compile(rf"{_FOLDER_PREFIX}(\d+)-.+")


def serve(requests: socket.socket) -> None:
    """Fork for every request until the other side closes. A request brings the caller's socket, and two files or none.

    A request is one message of JSON: ``task`` (module and name), ``bounds``. A task with files has a folder of its own
    for temporary ones.
    """
    remove_leftovers(_temporary())
    server = _ForkServer(requests)
    try:
        while server.step():
            pass
    finally:
        server.stop()


class _Task(NamedTuple):
    """A fork at work, and its caller."""

    caller: socket.socket
    pid: int
    process: int  #: its pidfd
    folder: str | None  #: for its temporary files


class _Spare(NamedTuple):
    """A fork that waits for its task, so that no task waits for a fork."""

    pid: int
    channel: socket.socket


class _ForkServer:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._confinement = Confinement()
        self._poll = select.epoll()
        self._poll.register(requests, select.EPOLLIN)
        self._tasks: dict[int, _Task] = {}  #: by the caller's descriptor
        self._ends: dict[int, int] = {}  #: the caller's descriptor by that of the fork
        self._spares: dict[bool, _Spare] = {}  #: the one for tasks with files, and the one for those without

    def step(self) -> bool:
        """Wait for the next event and handle it; False once no client is left."""
        for descriptor, _ in self._poll.poll():
            if descriptor == self._requests.fileno():
                if not self._accept():
                    return False
            elif descriptor in self._ends:
                self._reap(self._ends.pop(descriptor), descriptor)
            elif descriptor in self._tasks:  # its other end is closed
                self._poll.unregister(descriptor)
                os.kill(self._tasks[descriptor].pid, signal.SIGKILL)
        return True

    def stop(self) -> None:
        """End what still runs, and delete its files."""
        for task in self._tasks.values():
            os.kill(task.pid, signal.SIGKILL)
            os.waitpid(task.pid, 0)
            _remove(task.folder)
        self._drop_spares()

    def _accept(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._requests, _MAX_REQUEST_BYTES, 3)
        if not message:
            return False
        caller = socket.socket(fileno=descriptors[0])
        folder = None
        try:
            request = json.loads(message)
            self._load(request["task"][0])
            if descriptors[1:]:
                folder = request["folder"] = _new_folder()
                message = json.dumps(request).encode()
            pid = self._dispatch(message, descriptors)
        except Exception:  # its caller sees that the socket closes
            caller.close()
            _close(descriptors[1:])
            _remove(folder)
            return True
        _close(descriptors[1:])
        process = os.pidfd_open(pid)
        self._tasks[caller.fileno()] = _Task(caller, pid, process, folder)
        self._ends[process] = caller.fileno()
        self._poll.register(process, select.EPOLLIN)
        self._poll.register(caller, 0)  # closing is reported always
        with_files = folder is not None
        with suppress(OSError):  # too few processes now: the next task tries again
            self._spares[with_files] = self._forked(with_files)
        return True

    def _load(self, module: str) -> None:
        """Import the module before the fork that needs it."""
        if module not in sys.modules:
            importlib.import_module(module)
            self._drop_spares()

    def _dispatch(self, message: bytes, descriptors: list[int]) -> int:
        """Send the task to the spare fork, or to a new one where it has died; return the fork's process id."""
        with_files = len(descriptors) > 1
        for spare in (self._spares.pop(with_files, None), None):
            chosen = spare or self._forked(with_files)
            with chosen.channel:
                try:
                    socket.send_fds(chosen.channel, [message], descriptors)
                except OSError:
                    os.waitpid(chosen.pid, 0)
                else:
                    return chosen.pid
        raise OSError(errno.EAGAIN, "no fork takes the task")

    def _forked(self, with_files: bool) -> _Spare:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gc.freeze()
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            try:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                ours.close()
                self._leave()
                begun = _prepare(None if with_files else self._confinement)
                message, descriptors, _, _ = socket.recv_fds(theirs, _MAX_REQUEST_BYTES + 512, 3)
                theirs.close()
                if message and os.getppid() == parent:
                    _run(self._confinement, json.loads(message), descriptors, begun)
            finally:
                os._exit(1)
        theirs.close()
        return _Spare(pid, ours)

    def _drop_spares(self) -> None:
        for spare in self._spares.values():
            spare.channel.close()
            os.kill(spare.pid, signal.SIGKILL)
            os.waitpid(spare.pid, 0)
        self._spares.clear()

    def _leave(self) -> None:
        """Close, in the fork, what belongs to the server and its other forks."""
        self._requests.close()
        self._poll.close()
        for spare in self._spares.values():
            spare.channel.close()
        for task in self._tasks.values():
            task.caller.close()
            os.close(task.process)

    def _reap(self, descriptor: int, process: int) -> None:
        task = self._tasks.pop(descriptor)
        self._poll.unregister(process)
        os.close(process)
        status = os.waitstatus_to_exitcode(os.waitpid(task.pid, 0)[1])
        with suppress(FileNotFoundError):
            self._poll.unregister(task.caller)
        if status != 0:
            with suppress(OSError):  # the caller may be gone
                task.caller.settimeout(1.0)
                task.caller.sendall(STATUS.pack(status))
        task.caller.close()
        _remove(task.folder)


def _remove(folder: str | None) -> None:
    if folder is not None:
        import shutil  # noqa: PLC0415 - what the server has not loaded, no fork has to share

        shutil.rmtree(folder, ignore_errors=True)


def _temporary() -> str:
    return os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - folders in it have names of their own


def _new_folder() -> str:
    folder = os.path.join(_temporary(), f"{_FOLDER_PREFIX}{os.getpid()}-{os.urandom(8).hex()}")
    os.mkdir(folder, 0o700)
    return folder


def remove_leftovers(parent: str) -> None:
    """Delete the folders of tasks whose server is no more: one that was killed could not."""
    for name in os.listdir(parent):
        match = _FOLDER.fullmatch(name)
        if match is not None and not os.path.exists(f"/proc/{match[1]}"):
            _remove(os.path.join(parent, name))


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _prepare(confinement: Confinement | None) -> int:
    """Do, before there is a task, all that needs no knowledge of it; return the bytes of memory that the fork has.

    The fork confines itself here unless its task will have files. It also rehearses what every task does, so that the
    kernel copies the pages of that now.
    """
    begun = memory_bytes()
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if confinement is not None:
        confinement.enter()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        written = json.dumps(_REHEARSAL).encode()
        ours.sendall(LENGTH.pack(len(written)) + written + STATUS.pack(0))
        json.loads(receive(theirs))
    return begun


def _run(confinement: Confinement, request: dict[str, Any], descriptors: list[int], begun: int) -> None:
    """Set the limits, read the argument, work, and end; runs in the fork."""
    status = 1
    caller, files = socket.socket(fileno=descriptors[0]), descriptors[1:]
    try:
        limit(begun, **request["bounds"])
        if files:
            _use_folder(request["folder"])
            confinement.enter(files, request["folder"])
        task = getattr(sys.modules[request["task"][0]], request["task"][1])
        argument = json.loads(receive(caller))
        if files:
            with os.fdopen(files[0], "rb") as source, os.fdopen(files[1], "wb") as output:
                answer = json.dumps(task(argument, source, output)).encode()
        else:
            answer = json.dumps(task(argument)).encode()
        caller.sendall(LENGTH.pack(len(answer)) + answer + STATUS.pack(0))  # its caller need not wait for its end
        status = 0
    except MemoryError:
        status = NO_MEMORY
    except BrokenPipeError:
        pass  # the caller is gone
    except OSError as error:
        status = NO_ROOM if error.errno in (errno.EFBIG, errno.ENOSPC) else 1
    finally:  # any other failure is reported by the status alone: its message may hold untrusted text
        os._exit(status)


def _use_folder(folder: str) -> None:
    """Make it the folder of temporary files."""
    os.environ["TMPDIR"] = folder
    if (tempfile := sys.modules.get("tempfile")) is not None:
        vars(tempfile)["tempdir"] = folder


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


def memory_bytes() -> int:
    """Return the address space that this process has."""
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()


def limit(begun: int, memory_mb: int, cpu_seconds: float, output_mb: int, **_: object) -> None:
    """Bound this process from now on: memory beyond ``begun`` bytes, processor time, bytes of each file it writes."""
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


def command(*arguments: str) -> list[str]:
    """Return the command line of a server that serves its standard input, or those who connect to a socket."""
    return [sys.executable, "-I", "-c", _PROGRAM, *arguments]


def main() -> None:
    if not sys.argv[1:]:
        serve(socket.socket(fileno=0))
    elif sys.flags.isolated:
        listen(sys.argv[1])
    else:  # the memory of the process that this is a fork of is left behind
        os.execve(sys.executable, command(sys.argv[1]), dict(ENVIRONMENT))  # noqa: S606 - ourselves


def listen(address: str) -> None:
    """Be the server of each service that connects, in a process of its own; who may connect, the folder decides."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none of them is waited for
    os.umask(0o007)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        with suppress(FileNotFoundError):
            os.unlink(address)
        listener.bind(address)
        listener.listen(64)
        while True:
            requests, _ = listener.accept()
            if os.fork() == 0:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                try:
                    serve(requests)
                finally:
                    os._exit(0)
            requests.close()


if __name__ == "__main__":
    main()
