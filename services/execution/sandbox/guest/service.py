"""What the Python-hosted kernels share: the loop that judges calls, claims under the run's nonce, errors in words."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from itertools import compress, repeat, starmap
from operator import is_not
from types import FrameType
from typing import Any, Protocol, cast

from services.execution.sandbox.guest.displays import Displays
from services.execution.sandbox.guest.isolate import PASSED, WORK
from services.execution.sandbox.guest.program import described, exit_status
from services.execution.sandbox.guest.resting import FIRST, PRISTINE, RAISED, RETURNED
from services.execution.sandbox.guest.restoring import own_parts
from services.execution.sandbox.protocol.wire import (
    CHECKSUMS,
    MAX_BYTES,
    Json,
    Message,
    checksum,
    complete_frame,
    decoded,
    frame,
    receive,
    write_all,
)


class Replies:
    """The way back for claims. Only the process that got the request answers: a fork of the code's own does not."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = os.getpid()
        self._one_at_a_time = threading.RLock()  #: threads of the code's show things too
        self.nonce = ""

    @property
    def mine(self) -> bool:
        return os.getpid() == self._owner

    def send(self, message: Message) -> None:
        self.write(self.framed(message))

    def write(self, data: bytes) -> bool:
        """Return whether it was written. Code may close the descriptor: its values are lost, but not how it ended."""
        try:
            if self.mine:
                with self._one_at_a_time:
                    write_all(self._descriptor, data)
        except OSError:
            return False
        return True

    def framed(self, message: Message) -> bytes:
        """Return the frame; for a result that is too large for one, an error frame."""
        data = frame({**message, "nonce": self.nonce})
        if _size_of(data) <= MAX_BYTES:
            return data
        error: Json = {"type": "TooLarge", "message": "What it answers is too large.", "traceback": "", "limit": None}
        return frame({"t": "result", "error": error, "nonce": self.nonce})


class Kernel(Protocol):
    """One language. Every operation returns the fields of its reply, and raises whatever the code raises."""

    stop: Callable[[], None] | None  #: called from another thread, where an engine does not hear signals while it works
    recover: Callable[[], None] | None  #: called before the call after one that failed, which may have left work undone

    def prewarm(self) -> Message: ...

    def execute(self, request: Message) -> Message: ...

    def evaluate(self, request: Message) -> Message: ...

    def look(self, request: Message) -> Message: ...

    def digests(self, request: Message) -> Message: ...

    def restore(self, request: Message) -> Message: ...

    def picture(self, request: Message) -> Message: ...

    def get(self, request: Message) -> Message: ...

    def set(self, request: Message) -> Message: ...

    def list(self, request: Message) -> Message: ...

    def remove(self, request: Message) -> Message: ...

    def info(self, request: Message) -> Message: ...

    def packages(self, request: Message) -> Message: ...


_size_of = len  #: as it was before any code could change it
CLOSED = 71  #: status of an interpreter that the code has cut off from its session
_DEPTH = 16  #: calls of C functions between the frame that judges and what it judges
OPERATIONS = (
    *("execute", "evaluate", "look", "digests", "restore", "picture", "get", "set", "list", "remove", "info"),
    "packages",
)


class Relay:
    """Passes interrupts on to an engine that does not hear signals while it works."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._passing_on = threading.Lock()
        self._signals, signalled = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        threading.Thread(target=self._pass_on, daemon=True).start()

    def forget(self) -> None:
        """Drop an interrupt that was for an earlier call."""
        with self._passing_on:
            self._take()

    def _take(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self._signals, 4096))
        return False

    def _pass_on(self) -> None:
        while select.select([self._signals], (), ()):
            with self._passing_on:
                if self._take():
                    self._stop()


class Interrupts:
    """An interrupt is for a call that runs: not for the words about it, and not for the kernel that waits."""

    def __init__(self, stop: Callable[[], None] | None) -> None:
        #: Whether a call runs; cleared by the frame that judges, where no interrupt is raised.
        self.wanted: list[bool] = []
        self._relay = None if stop is None else Relay(stop)
        signal.signal(signal.SIGINT, self._raise)

    def _raise(self, _number: int, at: FrameType | None) -> None:
        if self.wanted and at is not None and at.f_code is not _answer_calls.__code__:
            raise KeyboardInterrupt

    def begin(self) -> None:
        self.wanted.append(True)
        if self._relay is not None:
            self._relay.forget()


def serve(make: Callable[[Displays], Kernel], requests: int, replies: int) -> None:
    """Answer requests until init, or the code, ends this process."""
    _open_streams()
    _forget_exit_functions()
    answers = Replies(replies)
    displays = Displays(answers.send, printed)
    calls = _Calls(make(displays), displays, answers)
    _untraced(lambda: _answer_calls(calls, requests))


def _untraced(run: Callable[[], None]) -> None:
    """Run a function whose frames no trace or profile function sees, as it is called by one: these could change its
    locals. ``call_tracing`` lets the code that it runs be traced.
    """

    def traced(_frame: FrameType, _event: str, _argument: object) -> None:
        sys.settrace(None)
        run()

    def entered() -> None:
        """Call the trace function."""

    sys.settrace(traced)
    entered()


def _answer_calls(calls: _Calls, requests: int) -> None:  # noqa: C901, PLR0912, PLR0915 - one frame, for what it says
    """Read a request, do it, report its values, and rest: the size of that last read shows init how the call ended.

    Init trusts that size only while the stack of this thread is as short as it was before there was any code. So
    nothing that code could have replaced is called from this frame directly: `advance` adds to the stack. Nor is what
    the first read left of a large request read here: init would take that size for an end. What is used here is bound
    before there is any code, and a call has returned only if the one expression that reports it is complete. What code
    has changed of the kernel's functions is put back before the next call.
    """
    read, pipe, getpid, each, advance = os.read, os.pipe, os.getpid, map, next
    returned, raised, first, checksums = RETURNED, RAISED, FIRST, CHECKSUMS
    own = own_parts(calls)
    (owners, names, values), (spaces, keys, held) = zip(*own.attributes, strict=True), zip(*own.names, strict=True)
    attributes, now, differs, keep, spread = own.attributes, getattr, is_not, compress, starmap
    put_back, put_name, exhaust, gone, nothing = setattr, dict.__setitem__, deque, repeat(None), 0
    kind, is_kind, whole, complete = type, issubclass, int, complete_frame
    equal: Any = int.__eq__
    failure, leaving, unreadable = BaseException, SystemExit, OSError
    begin, perform, report, end_fork = calls.begin, calls.perform, calls.report, calls.end_fork
    no_more_interrupts = calls.interrupts.wanted.clear
    end, closed, last, mark = os._exit, CLOSED, None, 0
    owner, resting, count, deeper = getpid(), PRISTINE, 0, (0,) * _DEPTH
    work: Any  # an iterator over what the step named in it returns
    while True:
        try:
            data = read(requests, resting)
            work = each(complete, (requests,), (data,))
            for _ in deeper:
                work = each(advance, (work,))
            data = advance(work)
        except unreadable:  # the code has closed it: nothing comes any more, but how it ended is still to be seen
            if not last:
                end(closed)
            requests, _held_open = pipe()
            continue
        exhaust(each(put_name, spaces, keys, held), nothing)
        exhaust(spread(put_back, keep(attributes, each(differs, each(now, owners, names, gone), values))), nothing)
        work = each(begin, (data,))
        for _ in deeper:
            work = each(advance, (work,))
        last, mark = advance(work)
        if last is None:
            continue  # the request runs no user code
        outcome = raised
        fields: Message | None = None
        error: BaseException | None = None
        try:
            work = each(perform, (None,))
            for _ in deeper:
                work = each(advance, (work,))
            outcome, fields = returned, advance(work)
        except leaving as stop:
            error, status = stop, stop.code
            if last and (status is None or (is_kind(kind(status), whole) and equal(status, 0))):
                outcome = returned
        except failure as problem:
            error = problem
        no_more_interrupts()
        if getpid() != owner:
            work = each(end_fork, (error,))
            for _ in deeper:
                work = each(advance, (work,))
            advance(work)
        claimed: Any = 0
        for _ in (0, 1):  # a handler of the code's may raise in between
            try:
                work = each(report, ((outcome, fields, error),))
                for _ in deeper:
                    work = each(advance, (work,))
                claimed = advance(work)
                break
            except failure as problem:
                if error is None:
                    error = problem
        count += 1
        claimed = claimed if kind(claimed) is whole else 0
        resting = first + 2 * (count % 2) + outcome + 4 * ((claimed + mark) % checksums)
        fields = error = status = None


class _Calls:
    """What happens in a call, above the frame that judges it."""

    def __init__(self, kernel: Kernel, displays: Displays, answers: Replies) -> None:
        self._kernel = kernel
        self._displays = displays
        self._answers = answers
        self.interrupts = Interrupts(kernel.stop)
        self._failed = False  #: the last call
        self._passing = socket.socket(fileno=PASSED)
        self._request: Message = {}

    def begin(self, data: bytes) -> tuple[bool | None, int]:
        """Take a request: whether it is the last one, ``None`` when there is nothing to perform; and its mark."""
        if not data:
            leave(0)
        request = decoded(data[4:])
        if request["op"] == "prewarm":
            self._prewarm()
            return None, 0
        if not self._answers.nonce:
            os.chdir(WORK)  # init may have put another folder there for the run
        self._answers.nonce = str(request["nonce"])
        self._request = request
        return bool(request["once"]), int(cast("int", request["mark"]))

    def _prewarm(self) -> None:
        """Do what most code does, once: a fork pays for each page that it touches first, and code should not."""
        with contextlib.suppress(Exception):
            self._displays.begin()
            frame(self._kernel.prewarm())
            self._displays.show_open_figures()
            flush()
        self._answers.send({"t": "hello"})

    def perform(self, _nothing: None) -> Message:
        """Run the operation itself. Raises: what the code raises."""
        request = _with_passed_files(self._request, self._passing)
        operation = str(request["op"])
        self._displays.begin()
        self.interrupts.begin()
        if self._failed and self._kernel.recover is not None:
            self._kernel.recover()
        return cast("Message", getattr(self._kernel, operation if operation in OPERATIONS else "info")(request))

    def report(self, ended: tuple[int, Message | None, BaseException | None]) -> int:
        """Claim values, or say in words what was raised. Returns the checksum of what was written."""
        outcome, fields, error = ended
        self._failed = error is not None
        reply: dict[str, Json] = {"t": "result", "error": None, **(fields or {})}
        if isinstance(error, SystemExit):
            reply["exit"] = exit_status(error)
        elif error is not None:
            reply["error"] = described(error)
            if self._request["once"] and self._request.get("take") == "view" and outcome == RAISED:
                _tell_as_a_script_would(str(reply["error"]["traceback"]))  # type: ignore[index, call-overload]
        with contextlib.suppress(BaseException):
            self._displays.show_open_figures()
        if self._request["once"] and self._request.get("until") == "end":
            _shut_down()
        flush()
        data = self._answers.framed(reply)
        return checksum(data[4:]) if self._answers.write(data) else 0

    def end_fork(self, error: BaseException | None) -> None:
        """End a fork of the code that returned here: it exits as a script does, without a report."""
        if isinstance(error, SystemExit):
            leave(exit_status(error))
        if error is not None:
            sys.excepthook(type(error), error, error.__traceback__)
        leave(int(error is not None))


def _with_passed_files(request: Message, passing: socket.socket) -> Message:
    """Return the first request with its frames at the open files that came for it; afterwards that socket is closed."""
    if passing.fileno() == -1:
        return request
    with passing:
        if not request.get("passed"):
            return request
        _, descriptors, _ = receive(passing)
    frames = cast("list[Mapping[str, Json]]", request["frames"])
    places = zip(frames, descriptors, strict=True)
    return {**request, "frames": [{**each, "descriptor": number} for each, number in places]}


def _tell_as_a_script_would(text: str) -> None:
    with contextlib.suppress(Exception):
        sys.stderr.write(text)


class _Counted(io.FileIO):
    """A stream that counts its bytes."""

    count = 0

    def write(self, data: Any, /) -> int:
        written = super().write(data)
        self.count += written
        return written


_COUNTED: list[_Counted] = []  #: standard output and standard error


def printed() -> list[int]:
    """Return how many bytes the code has printed to each stream so far; what it writes past them is not counted."""
    flush()
    return [stream.count for stream in _COUNTED]


def _open_streams() -> None:
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    _COUNTED[:] = [_Counted(number, "w") for number in (1, 2)]
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BufferedWriter(stream), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        for stream in _COUNTED
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _forget_exit_functions() -> None:
    """Libraries registered theirs in the warm parent; some wait for threads that a fork does not have."""
    atexit._clear()
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing is not None:
        atexit.register(multiprocessing._exit_function)


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _shut_down() -> None:
    """Do as the interpreter does at its end: wait for threads, then call exit functions."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()


def leave(status: int) -> None:
    """End as the interpreter would: threads, then exit functions, then what is still buffered."""
    _shut_down()
    flush()
    os._exit(status)
