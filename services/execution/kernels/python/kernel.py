"""The Python kernel: one name space, requests from one pipe, replies on another."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import random
import signal
import sys
import threading
import types
from collections.abc import Mapping
from typing import cast

from services.execution.kernels.isolate import CODE, OUT, WORK
from services.execution.kernels.python import tables
from services.execution.kernels.python.displays import Stage, figure_of, picture, rendered
from services.execution.kernels.python.program import compiled, described, exit_status, run
from services.execution.kernels.python.views import view
from services.execution.kernels.wire import Json, Message, read_frame, write_frame


class PythonKernel:
    """The state that one call leaves to the next."""

    def __init__(self, replies: int) -> None:
        self._replies = replies
        self._pid = os.getpid()
        self._nonce = ""
        self._calls = 0
        self._module = types.ModuleType("__main__")
        self.stage = Stage(self._send)
        builtins.display = self.stage.display  # type: ignore[attr-defined]
        self._module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self._module

    @property
    def space(self) -> dict[str, object]:
        return self._module.__dict__

    def _send(self, message: Message) -> None:
        if os.getpid() == self._pid:  # a fork of the code's own speaks for nobody
            write_frame(self._replies, {**message, "nonce": self._nonce})

    def execute(self, request: Message) -> int | None:
        """Run code and reply; an exit status when the code asked to exit."""
        self._nonce = str(request["nonce"])
        self._calls += 1
        name = f"{CODE}/main.py" if self._calls == 1 else f"{CODE}/main_{self._calls}.py"
        code = str(request["code"])
        status: int | None = None
        reply: dict[str, Json] = {"t": "result", "value": None, "error": None}
        try:
            self._settle(request, name, code)
            value = run(compiled(code, name), self.space)
            if os.getpid() != self._pid:
                _leave(0)
            _flush()
            reply.update(self._described_result(value, str(request["take"])))
            self.stage.show_open_figures()
        except SystemExit as stop:
            status = exit_status(stop)
            with contextlib.suppress(Exception):
                self.stage.show_open_figures()
        except BaseException as error:
            if os.getpid() != self._pid:
                sys.excepthook(type(error), error, error.__traceback__)
                _leave(1)
            reply["error"] = described(error)
            with contextlib.suppress(Exception):
                self.stage.show_open_figures()
        _flush()
        if status is None:
            self._send(reply)
        return status

    def _settle(self, request: Message, name: str, code: str) -> None:
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as handle:
            handle.write(code)
        if self._calls == 1:
            self._module.__file__ = name
            sys.argv = [name]
        _seed(cast("int | None", request["seed"]))
        for frame in cast("list[Mapping[str, str]]", request["frames"]):
            self.space[frame["name"]] = tables.read(frame["path"], frame["dataframe"])

    def _described_result(self, value: object, take: str) -> dict[str, Json]:
        if take == "view":
            return {"value": None if value is None else view(value)}
        if "result" in self.space:
            value = self.space["result"]
        made: dict[str, Json] = {"value": view(value), "class": type(value).__name__}
        if tables.is_table(value):
            made["rows"] = tables.write(value, f"{OUT}/result.arrow")
            made["table"] = "result.arrow"
        figure = figure_of(value)
        if take == "plot" and figure is None:
            pyplot = sys.modules.get("matplotlib.pyplot")
            figure = pyplot.gcf() if pyplot is not None and pyplot.get_fignums() and value is None else None
        if figure is not None:
            with open(f"{OUT}/result.png", "wb") as handle:
                handle.write(picture(figure))
            made["plot"], made["plot_type"] = "result.png", "image/png"
        elif take == "plot" and value is not None and not tables.is_table(value):
            media_type, content, suffix = rendered(value)
            if media_type in ("image/png", "image/svg+xml"):
                with open(f"{OUT}/result{suffix}", "wb") as handle:
                    handle.write(content.encode() if isinstance(content, str) else content)
                made["plot"], made["plot_type"] = f"result{suffix}", media_type
        return made


def _seed(seed: int | None) -> None:
    """A given seed makes the run repeatable; without one no two forks of the warm parent may draw alike."""
    numpy = sys.modules.get("numpy")
    if seed is not None:
        random.seed(seed)
    else:
        random.seed()
    if numpy is not None:
        numpy.random.seed(seed)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _forget_exit_functions() -> None:
    """Libraries registered theirs in the warm parent; some wait for threads that a fork does not have."""
    atexit._clear()
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing is not None:
        atexit.register(multiprocessing._exit_function)


def _leave(status: int) -> None:
    """End as the interpreter would: threads, then exit functions, then what is still buffered."""
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    _flush()
    os._exit(status)


def serve(requests: int, replies: int) -> None:
    """Answer requests until one of them, or the code, says that this is the end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    _forget_exit_functions()
    if WORK not in sys.path:
        sys.path.append(WORK)  # last: a file of the job never stands in for a library
    kernel = PythonKernel(replies)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.show = lambda *_args, **_options: kernel.stage.show_open_figures()  # type: ignore[attr-defined]
    while True:
        request = read_frame(requests)
        if request is None:
            _leave(0)
            return
        status = kernel.execute(request)
        if status is not None or request["once"]:
            _leave(status or 0)
