"""Runs our code on untrusted input, in a separate process with limits on memory, time and output.

All computation on a tenant's input that is more than arithmetic on bounded data runs here. The
process has no environment, no descriptors but its input and its output, reaches no path but the code's and a folder
of its own, no other process and no network, and ends with the process that started it. It is a fork of a server that
has loaded the code already: a small task takes a few milliseconds.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from threading import Event as Flag
from threading import Lock
from typing import BinaryIO, TypeVar

from pydantic import JsonValue

from shared.fork_server import ENVIRONMENT, LENGTH, NO_MEMORY, NO_ROOM, STATUS, command

_POLL_SECONDS = 0.05
_STOP_SECONDS = 2.0
_CONNECT_SECONDS = 10.0
#: Names the socket of a server that runs as a user of its own. Where it is set, no task runs as this process's user.
SOCKET_VARIABLE = "ASSAY_PARSERS_SOCKET"
_CHUNK_BYTES = 1 << 18

Result = TypeVar("Result")
#: A function at the top of a module that reads the first file, writes the second, and says something of it; or its
#: name, ``module:function``, where this process should not load what the module imports.
FileTask = Callable[[JsonValue, BinaryIO, BinaryIO], JsonValue] | str
#: One that makes a value of another.
ValueTask = Callable[[JsonValue], JsonValue] | str


@dataclass(frozen=True)
class Bounds:
    """The wall clock bounds what waits; it is generous, for a busy machine."""

    memory_mb: int = 768  #: beyond what the process begins with
    cpu_seconds: float = 120.0
    wall_seconds: float = 600.0
    output_mb: int = 2048  #: of each file, and of an answer


class BoundExceeded(Exception):
    """The task took more than it may, or broke; the text says which in plain words."""


class TaskLost(Exception):
    """The process could not be started, or its server was ended: nothing is known about what it was given."""


class Cancelled(Exception):
    """The caller no longer wants the output."""


def run(
    task: FileTask, argument: JsonValue, source: BinaryIO, output: BinaryIO, bounds: Bounds, cancelled: Flag
) -> JsonValue:
    """Have ``task`` read ``source`` and write ``output``, which are real files; return what it says.

    Raises: BoundExceeded, TaskLost, Cancelled.
    """
    with _start(task, bounds, [source.fileno(), output.fileno()]) as connection:
        return _answer(_exchanged(connection, argument, bounds, cancelled))


def call(task: ValueTask, argument: JsonValue, bounds: Bounds) -> JsonValue:
    """Return what ``task`` makes of the argument. Raises: BoundExceeded, TaskLost."""
    with _start(task, bounds, []) as connection:
        return _answer(_exchanged(connection, argument, bounds, Flag()))


async def call_async(task: ValueTask, argument: JsonValue, bounds: Bounds) -> JsonValue:
    """Return what ``task`` makes of the argument; a caller that is cancelled ends it. Raises: as ``call``."""
    async with started(task, argument, bounds) as process:
        return await process.answer()


class BoundedProcess:
    """A task under way, as an event loop sees it."""

    def __init__(self, connection: socket.socket, bounds: Bounds) -> None:
        self._connection = connection
        self._bounds = bounds

    async def answer(self) -> JsonValue:
        """Return the task's result. Raises: BoundExceeded, TaskLost."""
        received = bytearray()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._bounds.wall_seconds):
                while not _is_whole(received):
                    chunk = await loop.sock_recv(self._connection, _CHUNK_BYTES)
                    if not chunk:
                        break
                    received += chunk
                    _check_size(received, self._bounds)
        except TimeoutError:
            raise BoundExceeded(_TOO_LONG) from None
        except ConnectionError:
            raise TaskLost("the process that ran it was ended") from None
        return _answer(received)

    def kill(self) -> None:
        """End it at once."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


@asynccontextmanager
async def started(
    task: FileTask | ValueTask, argument: JsonValue, bounds: Bounds, files: Sequence[int] = ()
) -> AsyncIterator[BoundedProcess]:
    """Begin a task; it is killed at the end. ``files``: descriptors of its input and its output, or none.

    Raises: TaskLost.
    """
    connection = _started_at_once(task, bounds, files)
    if connection is None:
        connection = await asyncio.to_thread(_start, task, bounds, files)
    with connection:
        connection.setblocking(False)
        with suppress(ConnectionError):  # it has ended already: its status says why
            await asyncio.get_running_loop().sock_sendall(connection, _message(argument))
        yield BoundedProcess(connection, bounds)


def _start(task: FileTask | ValueTask, bounds: Bounds, files: Sequence[int]) -> socket.socket:
    """Start the task and return the caller's end of its socket; closing it ends the process. Raises: TaskLost."""
    if files:
        _open_to_readers(files[0])
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            _SERVERS.send(_request(task, bounds), [theirs.fileno(), *files])
        except OSError:
            ours.close()
            raise TaskLost("no process could be started") from None
    return ours


def _started_at_once(task: FileTask | ValueTask, bounds: Bounds, files: Sequence[int]) -> socket.socket | None:
    """Start the task without waiting; None where a server has to be started first."""
    if files:
        _open_to_readers(files[0])
    ours, theirs = socket.socketpair()
    with theirs:
        if _SERVERS.send_at_once(_request(task, bounds), [theirs.fileno(), *files]):
            return ours
    ours.close()
    return None


def _open_to_readers(source: int) -> None:
    """Let the server's user open a file without a name again, by its descriptor: nobody else has one."""
    status = os.fstat(source)
    if status.st_nlink == 0 and status.st_uid == os.geteuid():
        os.fchmod(source, stat.S_IMODE(status.st_mode) | stat.S_IROTH)


@lru_cache(64)
def _request(task: FileTask | ValueTask, bounds: Bounds) -> bytes:
    name = task.split(":") if isinstance(task, str) else [task.__module__, task.__name__]
    return json.dumps({"task": name, "bounds": asdict(bounds)}).encode()


class _Servers:
    """The fork server of this process; a fork of this process starts its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pid = 0
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def send(self, request: bytes, descriptors: list[int]) -> None:
        """Send a request with its descriptors. Raises: OSError."""
        with self._lock:
            try:
                socket.send_fds(self._running(), [request], descriptors)
            except OSError:  # it was killed: one more is started
                self.stop()
                socket.send_fds(self._running(), [request], descriptors)

    def send_at_once(self, request: bytes, descriptors: list[int]) -> bool:
        """Send a request if that takes no time; return whether it was sent."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._requests is None or self._pid != os.getpid():
                return False
            socket.send_fds(self._requests, [request], descriptors, socket.MSG_DONTWAIT)
        except OSError:
            return False
        finally:
            self._lock.release()
        return True

    def _running(self) -> socket.socket:
        if self._pid != os.getpid():
            self._requests, self._process = None, None  # the parent's, which continues to use them
            self._pid = os.getpid()
        if self._requests is None:
            atexit.register(self.stop)
            if address := os.environ.get(SOCKET_VARIABLE):
                self._requests = _connected(address)
                return self._requests
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    command(),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={**ENVIRONMENT, "TMPDIR": tempfile.gettempdir()},
                )
            self._requests = ours
        return self._requests

    def stop(self) -> None:
        """End the server and what it runs; the next task starts another one."""
        if self._pid != os.getpid():
            return
        if self._requests is not None:
            self._requests.close()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):  # it deletes the files of what it ran
                self._process.wait(_STOP_SECONDS)
            self._process.kill()
            self._process.wait()
        self._requests, self._process = None, None


def _connected(address: str) -> socket.socket:
    """Return a connection to a server of another user, which may be on its way. Raises: OSError."""
    ends = time.monotonic() + _CONNECT_SECONDS
    while True:
        requests = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            requests.connect(address)
        except OSError:
            requests.close()
            if time.monotonic() > ends:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            return requests


_SERVERS = _Servers()


def _message(argument: JsonValue) -> bytes:
    written = json.dumps(argument).encode()
    return LENGTH.pack(len(written)) + written


def _exchanged(connection: socket.socket, argument: JsonValue, bounds: Bounds, cancelled: Flag) -> bytearray:
    """Send the argument; return all that comes back. Raises: BoundExceeded, Cancelled."""
    ends = time.monotonic() + bounds.wall_seconds
    connection.settimeout(_POLL_SECONDS)
    message, received = memoryview(_message(argument)), bytearray()
    while True:
        if cancelled.is_set():
            raise Cancelled
        if time.monotonic() > ends:
            raise BoundExceeded(_TOO_LONG)
        try:
            if message:
                message = message[connection.send(message) :]
                continue
            chunk = connection.recv(_CHUNK_BYTES)
        except TimeoutError:
            continue
        except ConnectionError:  # it has ended already: its status says why
            if not message:
                raise TaskLost("the process that ran it was ended") from None
            message = memoryview(b"")
            continue
        received += chunk
        _check_size(received, bounds)
        if not chunk or _is_whole(received):
            return received


def _is_whole(received: bytearray) -> bool:
    """Return whether the answer and its status have come."""
    if len(received) < LENGTH.size:
        return False
    return len(received) >= LENGTH.size + int(LENGTH.unpack_from(received)[0]) + STATUS.size


def _check_size(received: bytearray, bounds: Bounds) -> None:
    if len(received) > (bounds.output_mb << 20):
        raise BoundExceeded(_TOO_MUCH)


def _answer(received: bytearray) -> JsonValue:
    """Return the answer. Raises: BoundExceeded, TaskLost."""
    _check(bytes(received[-STATUS.size :]))
    answer: JsonValue = json.loads(received[LENGTH.size : -STATUS.size])
    return answer


def _check(status: bytes) -> None:
    """Raise BoundExceeded unless the task completed; TaskLost when its status is missing."""
    if len(status) < STATUS.size:
        raise TaskLost("the process that ran it was ended")
    code = STATUS.unpack(status)[0]
    if code != 0:
        raise BoundExceeded(_REASONS.get(code, _BROKEN))


_TOO_LONG, _TOO_MUCH = "it takes too long", "there is too much in it"
_BROKEN = "it is damaged, or needs too much memory"
_REASONS = {
    -signal.SIGXCPU: _TOO_LONG,
    -signal.SIGPROF: _TOO_LONG,
    NO_MEMORY: "it needs too much memory",
    NO_ROOM: _TOO_MUCH,
}
