"""The Python kernel: one name space that a call leaves to the next."""

from __future__ import annotations

import builtins
import contextlib
import os
import platform
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any, cast

from services.execution.languages.python.guest import ipython, reach, tables, widgets
from services.execution.languages.python.guest.digests import Names, Surroundings
from services.execution.languages.python.guest.libraries import seed_all, use_pandas
from services.execution.languages.python.guest.parts import Parts, restore_random
from services.execution.languages.python.guest.soundness import demand_sound
from services.execution.languages.python.guest.values import class_name, exactly, inward, listed, looks, outward, view
from services.execution.sandbox.guest import service
from services.execution.sandbox.guest.displays import Displays, figure_of, picture, rendered
from services.execution.sandbox.guest.isolate import CODE, OUT, WORK, new_file
from services.execution.sandbox.guest.program import compiled, run
from services.execution.sandbox.protocol.wire import Json, Message

_WARNED = "__warningregistry__"


class PythonKernel:
    #: No other attributes: the code cannot put its own functions in the place of these.
    __slots__ = ("_around", "_calls", "_displays", "_module", "_names", "_own", "_parts")
    stop: Callable[[], None] | None = None
    recover: Callable[[], None] | None = None

    def __init__(self, displays: Displays) -> None:
        self._calls = 0
        self._module = types.ModuleType("__main__")
        self._displays = displays
        shell = ipython.install(displays)
        widgets.install()
        displays.with_options = ipython.display
        builtins.display, builtins.get_ipython = displays.display, lambda: shell  # type: ignore[attr-defined]
        # The code has separate built-ins: what it replaces there is not what its kernel uses.
        own = types.ModuleType("builtins", builtins.__doc__)
        own.__dict__.update(builtins.__dict__)
        self._module.__dict__["__builtins__"] = sys.modules["builtins"] = own
        sys.modules["__main__"] = self._module
        sys.argv = [f"{CODE}/main.py"]  # not ours, which say nothing to the code
        sys.path.append(WORK)  # last: a file of the job never shadows a library
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.show = lambda *_args, **_options: displays.show_open_figures()
        self._own = set(self.space)
        self._around = Surroundings(self.space)
        self._names = Names(self._around)
        self._parts: Parts | None = None  #: from the first digests on

    @property
    def space(self) -> dict[str, object]:
        return self._module.__dict__

    def prewarm(self) -> Message:
        made = self.execute({"code": "pass", "seed": None, "frames": [], "take": "view"})
        pandas = sys.modules.get("pandas")
        if pandas is not None and "pyarrow" in sys.modules:
            table = f"{OUT}/prewarm.arrow"
            tables.write(use_pandas(pandas), table)
            demand_sound(tables.read(table, "source"))
            view(tables.read(table, "pandas"))
            os.unlink(table)
        self._calls = 0
        return made

    def execute(self, request: Message) -> Message:
        self._calls += 1
        number = request.get("number") or self._calls
        name = f"{CODE}/main.py" if number == 1 else f"{CODE}/main_{number}.py"
        code = str(request["code"])
        if self._calls == 1:  # later ones are known to the tracebacks alone: there is little space
            with open(name, "w", encoding="utf-8", errors="surrogatepass") as handle:
                handle.write(code)
            self._module.__file__ = name
            self._own.add("__file__")
            if self._parts is None or request["seed"] is not None:
                seed_all(cast("int | None", request["seed"]))
        for frame in cast("list[Mapping[str, str]]", request["frames"]):
            self.space[frame["name"]] = tables.given(frame, frame["dataframe"])
        with _sized_figures(cast("list[float] | None", request.get("figure"))):
            value = self._run(code, name)
        service.flush()
        if request["take"] == "shown":
            if code.rstrip().endswith(";") or (value is not None and not self._displays.show_value(value)):
                value = None
            service.flush()
        return self._described_result(value, str(request["take"]))

    def _described_result(self, value: object, take: str) -> Message:
        if take in ("view", "shown"):
            return {"value": None if value is None else view(value), "class": class_name(value)}
        if "result" in self.space:
            value = self.space["result"]
        if tables.is_table(value):  # it leaves whole: drawing it as text would take longer than most code does
            rows = tables.write(value, f"{OUT}/result.arrow", plain=True)
            return {"class": class_name(value), "rows": rows, "table": "result.arrow"}
        made: dict[str, Json] = {"value": view(value), "class": class_name(value)}
        if take == "plot":
            made.update(_plotted(value))
        return made

    def evaluate(self, request: Message) -> Message:
        program = compiled(str(request["code"]), f"{CODE}/expression.py")
        if program.body is not None or program.last is None:
            raise SyntaxError("an expression is wanted, not statements")
        self._will_run(str(request["code"]))
        value = run(program, self.space)
        reply: dict[str, Json] = {"value": view(value), "class": class_name(value)}
        if (file := request.get("file")) is not None:
            reply["typed"] = outward(value, f"{OUT}/{file}", str(file))
        return reply

    def _run(self, code: str, name: str) -> object:
        program = compiled(code, name)
        self._will_run(code)
        self.space.pop(_WARNED, None)  # each call has its own lines to warn of
        return run(program, self.space)

    def _will_run(self, code: str) -> None:
        if self._parts is not None:
            self._parts.will_run(code, self.space)

    def digests(self, request: Message) -> Message:
        """``reached``: names and parts that code since the last time could come to; none where it could to all."""
        if self._parts is None:
            if self._calls == 0:
                seed_all(None)  # before it is compared, not by the first call
            self._parts = Parts(self._around)
        self._parts.find_modules()
        reached = None if request["reached"] is None else set(cast("list[str]", request["reached"]))
        names = {name: value for name, value in self.space.items() if name not in self._own and name != _WARNED}
        digests = self._names.digests(names, reached)
        also_held = {
            **dict.fromkeys(self._parts.held_by_modules(), (reach.MODULES,)),
            **dict.fromkeys(self._parts.held_by_libraries(self._names), (reach.LIBRARY, reach.PATCHES)),
        }
        for name in also_held.keys() & digests.keys():
            held = digests[name]  # to restore its value alone would part it from the module's
            held["refs"] = sorted({*cast("list[str]", held["refs"]), *also_held[name]})
            held.setdefault("shared", held["value"] or name)
        return {"digests": {**digests, **self._parts.digests(reached, self._names.holding)}}

    def restore(self, request: Message) -> Message:
        if request["part"] == reach.RANDOM:
            restore_random(str(request["keep"]))
        return {}

    def look(self, request: Message) -> Message:
        return looks(self.space, request)

    def picture(self, request: Message) -> Message:
        figure = figure_of(self.space[str(request["name"])])
        if figure is None:
            raise TypeError("it is not a figure")
        with open(new_file(f"{OUT}/picture.png"), "wb") as handle:
            handle.write(picture(figure))
        return {"picture": "picture.png"}

    def get(self, request: Message) -> Message:
        name = str(request["name"])
        if name not in self.space:
            raise NameError(f"name {name!r} is not defined")
        file = str(request["file"])
        return {"typed": outward(self.space[name], f"{OUT}/{file}", file)}

    def set(self, request: Message) -> Message:
        sent = cast("Message", request["typed"])
        value = self.space[str(request["name"])] = inward(sent)
        return exactly(value) if sent["kind"] == "json" else {}

    def list(self, _request: Message) -> Message:
        hidden = (types.ModuleType, types.FunctionType, type)
        shown = {
            name: value
            for name, value in self.space.items()
            if name not in self._own and not name.startswith("_") and not isinstance(value, hidden)
        }
        return {"variables": [listed(name, value) for name, value in shown.items()]}

    def remove(self, request: Message) -> Message:
        self.space.pop(str(request["name"]), None)
        return {}

    def info(self, _request: Message) -> Message:
        return {"language": "python", "version": platform.python_version()}

    def packages(self, _request: Message) -> Message:
        return {"packages": {each.name: each.version for each in metadata.distributions() if each.name}}


@contextlib.contextmanager
def _sized_figures(size: list[float] | None) -> Iterator[None]:
    """Draw figures in this size, in inches, where the code sets none; its options are not changed by that."""
    matplotlib: Any = sys.modules.get("matplotlib") if size is not None else None
    if matplotlib is None:
        yield
        return
    options = matplotlib.rcParams
    before = options["figure.figsize"]
    options["figure.figsize"] = size
    try:
        yield
    finally:
        if options["figure.figsize"] == size:
            options["figure.figsize"] = before


def _plotted(value: object) -> Message:
    """Return a picture of the value, or of the open figure when the value is not one."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    figure, kind = figure_of(value), class_name(value)
    if figure is None and pyplot is not None and pyplot.get_fignums():
        figure = pyplot.gcf()
    made: tuple[str, str | bytes, str] = rendered(value) if figure is None else ("image/png", picture(figure), ".png")
    media_type, content, suffix = made
    if media_type not in ("image/png", "image/svg+xml"):
        return {}
    with open(new_file(f"{OUT}/result{suffix}"), "wb") as handle:
        handle.write(content.encode() if isinstance(content, str) else content)
    return {"plot": f"result{suffix}", "plot_type": media_type, "class": "Figure" if figure is not None else kind}


def serve(requests: int, replies: int) -> None:
    service.serve(PythonKernel, requests, replies)
