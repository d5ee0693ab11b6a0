"""What the Python-hosted kernels share: the request loop, replies under the run's nonce, errors in plain words."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Protocol, cast

from services.execution.sandbox.guest.displays import Displays
from services.execution.sandbox.guest.isolate import PASSED, WORK
from services.execution.sandbox.guest.program import described, exit_status
from services.execution.sandbox.protocol.wire import MOST_BYTES, Json, Message, frame, read_frame, receive, write_all


class Replies:
    """The way back. Only the process that was asked answers; a fork of the code's own speaks for nobody."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._asked = os.getpid()
        self._one_at_a_time = threading.RLock()  #: threads of the code's show things too
        self.nonce = ""
        self.cut = False
        self.answered = True  #: the last request has its result

    @property
    def mine(self) -> bool:
        return os.getpid() == self._asked

    def send(self, message: Message) -> None:
        if self.mine:
            self.answered = self.answered or message.get("t") == "result"
            try:
                with self._one_at_a_time:
                    write_all(self._descriptor, self._small_enough({**message, "nonce": self.nonce}))
            except OSError:  # the code has closed it: then it ends as it would without us, and says no more
                self.cut = True

    def _small_enough(self, message: Message) -> bytes:
        """The frame; of a result that is too large for one, that it is."""
        data = frame(message)
        if len(data) <= MOST_BYTES:
            return data
        error: Json = {"type": "TooLarge", "message": "What it answers is too large.", "traceback": "", "limit": None}
        return frame({"t": "result", "error": error, "exit": message.get("exit"), "nonce": self.nonce})


class Kernel(Protocol):
    """One language. Every operation returns the fields of its reply, and raises whatever the code raises."""

    stop: Callable[[], None] | None  #: called from another thread, where an engine does not hear signals while it works

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
        """What has been heard was for an earlier call."""
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
        self.wanted = False
        self._relay = None if stop is None else Relay(stop)
        signal.signal(signal.SIGINT, self._raise)

    def _raise(self, _number: int, _frame: object) -> None:
        if self.wanted:
            raise KeyboardInterrupt

    def begin(self) -> None:
        self.wanted = True
        if self._relay is not None:
            self._relay.forget()


def serve(make: Callable[[Displays], Kernel], requests: int, replies: int) -> None:
    """Answer requests until one of them, or the code, says that this is the end."""
    _open_streams()
    _forget_exit_functions()
    answers = Replies(replies)
    displays = Displays(answers.send)
    kernel = make(displays)
    interrupts = Interrupts(kernel.stop)
    passing = socket.socket(fileno=PASSED)
    while True:
        try:
            request = read_frame(requests)
            if request is None:
                leave(0)
                return
            if request["op"] == "prewarm":
                _prewarm(kernel, displays, answers)
                continue
            if not answers.nonce:
                os.chdir(WORK)  # init may have put another folder there for the run
            answers.nonce, answers.answered = str(request["nonce"]), False
            status = _answer(kernel, displays, answers, _with_passed_files(request, passing), interrupts)
            if status is not None:
                leave(status)
        except KeyboardInterrupt as late:  # one too many, while the error of the first was sent
            interrupts.wanted = False
            if not answers.answered:
                answers.send({"t": "result", "error": described(late), "exit": None})
            if answers.cut:
                leave(1)


def _prewarm(kernel: Kernel, displays: Displays, answers: Replies) -> None:
    """Do what most code does, and forget it: a fork pays for each page that it touches first, and code should not."""
    with contextlib.suppress(Exception):
        displays.begin()
        frame(kernel.prewarm())
        displays.show_open_figures()
        flush()
    answers.send({"t": "hello"})


def _with_passed_files(request: Message, passing: socket.socket) -> Message:
    """The first request with its frames at the open files that came for it; after it that socket is closed."""
    if passing.fileno() == -1:
        return request
    with passing:
        if not request.get("passed"):
            return request
        _, descriptors, _ = receive(passing)
    frames = cast("list[Mapping[str, Json]]", request["frames"])
    places = zip(frames, descriptors, strict=True)
    return {**request, "frames": [{**each, "descriptor": number} for each, number in places]}


def _answer(
    kernel: Kernel, displays: Displays, answers: Replies, request: Message, interrupts: Interrupts
) -> int | None:
    """Do one operation; an exit status when it was the last one."""
    reply: dict[str, Json] = {"t": "result", "error": None}
    status: int | None = None
    operation = str(request["op"])
    displays.begin()
    try:
        interrupts.begin()
        reply.update(getattr(kernel, operation if operation in OPERATIONS else "info")(request))
        if not answers.mine:
            leave(0)
    except SystemExit as stop:
        status = exit_status(stop)
    except BaseException as error:
        if not answers.mine:
            sys.excepthook(type(error), error, error.__traceback__)
            leave(1)
        reply["error"] = described(error)
        if request["once"] and request.get("take") == "view":
            _tell_as_a_script_would(str(reply["error"]["traceback"]))  # type: ignore[index, call-overload]
    with contextlib.suppress(BaseException):
        displays.show_open_figures()
    interrupts.wanted = False
    flush()
    if status is None or not request["once"]:
        answers.send({**reply, "exit": status})
    if not request["once"] and not answers.cut:
        return None
    # A failure is known by it even where nobody hears of the error.
    return int(reply["error"] is not None) if status is None else status


def _tell_as_a_script_would(text: str) -> None:
    with contextlib.suppress(Exception):
        sys.stderr.write(text)


def _open_streams() -> None:
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
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


def leave(status: int) -> None:
    """End as the interpreter would: threads, then exit functions, then what is still buffered."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    flush()
    os._exit(status)
