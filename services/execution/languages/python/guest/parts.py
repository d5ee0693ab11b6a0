"""What the interpreter itself holds: built-ins, options of libraries, the process, files, random state."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import base64
import builtins
import collections.abc
import contextlib
import decimal
import faulthandler
import fcntl
import gc
import io
import locale
import logging
import numbers
import os
import pickle
import random
import resource
import signal
import stat
import sys
import threading
import time
import tracemalloc
import types
import warnings
from collections.abc import Callable, Container, Iterator, Mapping
from hashlib import sha256
from typing import Any

from services.execution.languages.python.guest import reach
from services.execution.languages.python.guest.containers import library_containers
from services.execution.languages.python.guest.digests import Names, NotDetermined, Reader, Surroundings
from services.execution.languages.python.guest.registries import Registries
from services.execution.languages.python.guest.stores import stores_of
from services.execution.sandbox.guest.awaiting import current_loop, has_pending_tasks
from services.execution.sandbox.guest.isolate import CODE, OUT, SHARED_MEMORY, TEMPORARY, WORK
from services.execution.sandbox.protocol.wire import Json

globals()["__builtins__"] = dict(vars(builtins))

_SECONDS = 0.3
_FOLDERS = (WORK, TEMPORARY, SHARED_MEMORY)
_OURS = ("services.", "shared.reading.")  #: modules of ours that are loaded inside
_SET_TIME = 60_000_000_000  #: nanoseconds between the time of a file and that of its last change
_MISSING = object()
_MANY = 300  #: attributes of new names that one piece of code may set


class Parts:
    """The interpreter as code finds it, compared with how it was before any ran."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._builtins = dict(vars(sys.modules["builtins"]))
        self._modules = set(sys.modules)
        self._threads = {thread.ident for thread in threading.enumerate()}
        self._streams = (sys.stdin, sys.stdout, sys.stderr, sys.displayhook, sys.excepthook)
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._hooks = [id(hook) for hook in _import_hooks()]
        self._descriptors = _descriptors()
        self._rc: dict[str, object] | None = None
        self._files = Files()
        self._stored: set[str] = set()  #: attributes that the code may have set
        self._stores_any = False
        self._hidden: str | None = None  #: why the code may have changed what nothing lists
        self._registries = Registries(around)
        self._owned: tuple[int, list[tuple[object, Mapping[str, object]]]] = (0, [])
        self._before: dict[str, dict[int, tuple[object, object]]] = {}  #: attribute -> owner -> owner and value
        self._aliased: list[tuple[str, object]] = []  #: containers of libraries that names of the code hold, too

    # -- attributes of libraries ---------------------------------------------------------------------------------------

    def will_run(self, code: str, space: Mapping[str, object]) -> None:
        """Note how the attributes of libraries are that this code may set, before it runs."""
        stores = stores_of(code, space)
        self._hidden = self._hidden or stores.hidden
        self._registries.will_use(stores.modules)
        self._will_store(stores.attributes)

    def _will_store(self, attributes: frozenset[str]) -> None:
        new = attributes - self._stored
        if len(new) > _MANY:
            self._stores_any = True
            return
        for name in new:
            self._stored.add(name)
            self._before[name] = {id(owner): (owner, held[name]) for owner, held in self._owners() if name in held}

    def _patches(self, reader: Reader) -> None:
        if self._stores_any:
            raise NotDetermined("attributes are set whose names are not in the code")
        named = {id(value) for value in self._around.space.values() if isinstance(value, types.ModuleType)}
        for name in sorted(self._stored):
            before = self._before[name]
            for owner, held in self._owners():
                if name not in held and id(owner) not in before:
                    continue
                was, now = before.get(id(owner), (None, _MISSING))[1], held.get(name, _MISSING)
                if was is not now and self._is_patch(owner, held, was, now, named):
                    reader.tag(f"{held.get('__module__')} {held.get('__qualname__')} {held.get('__name__')} {name}")
                    if now is not _MISSING:
                        reader.value(now)
        self._registries.read(reader)
        for place, container in self._aliased:
            reader.tag(place)
            reader.value(container)

    def _is_patch(self, owner: object, held: Mapping[str, object], was: object, now: object, named: set[int]) -> bool:
        """Return whether the code made this change: a library that loads sets its own attributes."""
        module = held.get("__module__") if isinstance(owner, type) else held.get("__name__")
        if not isinstance(module, str) or self._around.is_own(module) or module.startswith(_OURS):
            return False
        if self._is_own(now):
            return True
        if module not in self._modules:  # loaded since: what it was is not known
            return id(owner) in named
        return not isinstance(now, types.ModuleType) or was is not _MISSING

    def _owners(self) -> list[tuple[object, Mapping[str, object]]]:
        """Return every module, and every class in one, with their contents."""
        if self._owned[0] != len(sys.modules):
            self._owned = (len(sys.modules), list(_owners()))
        return self._owned[1]

    def _is_own(self, value: object) -> bool:
        value = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if isinstance(value, types.FunctionType):
            return value.__globals__ is self._around.space or self._around.is_own(value.__module__)
        return self._around.is_own(type(value).__module__ if not isinstance(value, type) else value.__module__)

    # -- all parts -----------------------------------------------------------------------------------------------------

    def find_modules(self) -> None:
        """Note the modules that the code has brought."""
        for name, module in list(sys.modules.items()):
            if name in self._modules or name in self._around.modules or not isinstance(module, types.ModuleType):
                continue
            file = getattr(module, "__file__", None)
            if module.__spec__ is None or (isinstance(file, str) and file.startswith((*_FOLDERS, CODE, OUT))):
                self._around.modules[name] = module

    def held_by_modules(self) -> set[str]:
        """Return the names of data that a module of the code holds, too (``from config import SETTINGS``)."""
        modules = [each for name, each in self._around.modules.items() if sys.modules.get(name) is each]
        held = {id(value) for module in modules for value in vars(module).values()}
        return {name for name, value in self._around.space.items() if id(value) in held and not _is_fixed(value)}

    def held_by_libraries(self, names: Names) -> set[str]:
        """Return the names of data that a library holds, too (``places = sys.path``), and note what they hold of it."""
        containers = library_containers(self._around.modules)
        aliases = names.aliases(containers)
        self._aliased = sorted((containers[each] for each in set().union(*aliases.values())), key=lambda held: held[0])
        return set(aliases)

    def digests(
        self, reached: Container[str] | None, holding: Callable[[set[int]], set[str]]
    ) -> dict[str, dict[str, Json]]:
        """Return the digests of the parts that code could reach; ``holding``: names that hold one of some objects."""
        readers: dict[str, Callable[[Reader], None]] = {
            reach.BUILTINS: self._changed_builtins,
            reach.PATCHES: self._patches,
            reach.OPTIONS: self._options,
            reach.PROCESS: self._process,
            reach.MODULES: self._own_modules,
            reach.FILES: self._file_contents,
            reach.RANDOM: _random,
        }
        made = {name: self._read(read, holding) for name, read in readers.items() if reached is None or name in reached}
        if "duckdb" in sys.modules:
            why = "what the tables of DuckDB hold cannot be compared"
            made[reach.DUCKDB] = {"value": None if self._uses_duckdb() else "", "why": why, "refs": []}
        if reach.RANDOM in made:
            made[reach.RANDOM].update(keep=_kept_random(), refs=[])
        return made

    def _read(self, read: Callable[[Reader], None], holding: Callable[[set[int]], set[str]]) -> dict[str, Json]:
        reader = Reader(self._around, time.thread_time() + _SECONDS, [])
        try:
            read(reader)
            reader.refs |= holding(reader.changing)  # code that reaches the part may change them through it
        except NotDetermined as refused:
            return {"value": None, "why": str(refused), "refs": sorted(reader.refs)}
        except Exception as error:  # a library refuses in its own way
            return {"value": None, "why": f"comparing it raised {type(error).__name__}", "refs": []}
        return {"value": reader.digest(), "refs": sorted(reader.refs)}

    def _uses_duckdb(self) -> bool:
        space = self._around.space.values()
        return any(isinstance(value, types.ModuleType) and value.__name__ == "duckdb" for value in space)

    def _changed_builtins(self, reader: Reader) -> None:
        if has_pending_tasks():
            reader.refs.add(reach.EVERYTHING)  # whatever runs next, the task may change any name meanwhile
            raise NotDetermined("a task of the code is still running")
        if any(each.ident not in self._threads and each.is_alive() for each in threading.enumerate()):
            raise NotDetermined("a thread of the code is still running")
        if self._hidden is not None:
            raise NotDetermined(self._hidden)
        if sys.gettrace() is not None or sys.getprofile() is not None:
            reader.refs.add(reach.EVERYTHING)  # it runs with whatever runs next
            raise NotDetermined("a trace function of the code is set")
        if any(signal.getitimer(timer)[0] for timer in _TIMERS):
            reader.refs.add(reach.EVERYTHING)
            raise NotDetermined("a timer of the code is still running")
        now = vars(sys.modules["builtins"])  # those that the code sees
        for name in sorted(now.keys() | self._builtins.keys()):
            if name != "_" and now.get(name, _MISSING) is not self._builtins.get(name, _MISSING):
                reader.tag(name)
                if name in now:
                    reader.value(now[name])
        streams = (sys.stdin, sys.stdout, sys.stderr, sys.displayhook, sys.excepthook)
        for number, (stream, was) in enumerate(zip(streams, self._streams, strict=True)):
            if stream is not was:
                reader.tag(f"stream {number}")
                reader.value(stream)
        reader.tag(f"{sys.getrecursionlimit()} {sys.get_int_max_str_digits()}")
        for each in _ABSTRACT:
            members = [member for reference in _abc._get_dump(each)[0] if (member := reference()) is not None]
            if own := sorted(member.__qualname__ for member in members if self._is_own(member)):
                reader.tag(f"{each.__qualname__} {own}")

    def _own_modules(self, reader: Reader) -> None:
        for name in sorted(self._around.modules):
            if sys.modules.get(name) is self._around.modules[name]:
                reader.tag(name)
                reader.value(sys.modules[name])

    def _process(self, reader: Reader) -> None:
        reader.made(sorted(os.environ.items()))
        mask = os.umask(0o022)
        os.umask(mask)
        reader.made([os.getcwd(), mask, gc.isenabled(), [str(each) for each in sys.path], sys.dont_write_bytecode])
        reader.made([[str(each) for each in sys.argv], time.tzname, time.timezone, time.altzone])
        reader.made([resource.getrlimit(limit) for limit in _LIMITS])
        for number in _SIGNALS:
            if signal.getsignal(number) is not self._handlers[number]:
                reader.tag(str(number))
                reader.value(signal.getsignal(number))
        if [id(hook) for hook in _import_hooks()] != self._hooks:
            reader.items("hooks", _import_hooks(), 0)
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        reader.made([gc.get_threshold(), gc.get_debug(), list(gc.callbacks), sorted(blocked), os.getpriority(0, 0)])
        reader.made([sys.getswitchinterval(), sys.get_coroutine_origin_tracking_depth(), faulthandler.is_enabled()])
        reader.made([tracemalloc.is_tracing(), threading.current_thread().name, threading.stack_size()])
        if (socket := sys.modules.get("socket")) is not None:
            reader.value(socket.getdefaulttimeout())
        if (loop := current_loop()) is not None:
            held = vars(loop)
            reader.made({name: held.get(name) for name in sorted({*filter(_is_public, held), *_OF_LOOPS})})

    def _options(self, reader: Reader) -> None:
        reader.tag(repr(decimal.getcontext()) + repr(decimal.DefaultContext))
        reader.tag(locale.setlocale(locale.LC_ALL))
        reader.made([tuple(map(repr, each)) for each in warnings.filters])
        for logger in _loggers():
            reader.made(logger)
        reader.changing.update(map(id, _written_by_loggers()))
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            reader.made([numpy.get_printoptions(), numpy.geterr(), numpy.geterrcall()])
        pandas: Any = sys.modules.get("pandas._config.config")
        if pandas is not None:
            reader.made(pandas._global_config)
        matplotlib: Any = sys.modules.get("matplotlib")
        if matplotlib is not None:
            reader.made({name: repr(dict.get(matplotlib.rcParams, name)) for name in sorted(matplotlib.rcParams)})
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and pyplot.get_fignums():
            raise NotDetermined("a figure is still open")

    def _file_contents(self, reader: Reader) -> None:
        reader.tag(self._files.read())
        for number, kind in _descriptors().items():
            if self._descriptors.get(number) != kind:
                reader.tag(f"{number} {_position(number)}")


class Files:
    """The files that code can write, with what is in them; those that have not changed are not read again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}

    def read(self) -> str:
        """Return a line for each file."""
        known: dict[str, tuple[tuple[int, int, int], str]] = {}
        lines: list[str] = []
        for path, state in _tree():
            kept = self._known.get(path)
            mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            if stat.S_ISREG(state.st_mode):
                content = kept[1] if kept is not None and kept[0] == mark else _content(path)
                known[path] = (mark, content)
            else:
                content = os.readlink(path) if stat.S_ISLNK(state.st_mode) else ""
            # A time that the code has set itself: of what it has written, both times are nearly the same.
            written = state.st_mtime_ns if abs(state.st_mtime_ns - state.st_ctime_ns) > _SET_TIME else ""
            lines.append(f"{path} {state.st_mode:o} {content} {written}")
        self._known = known
        return "\n".join(lines)


#: Classes of libraries that know classes of the code as their own by what was registered with them.
_ABSTRACT = tuple(
    each
    for module in (collections.abc, numbers, io, os, contextlib)
    for each in vars(module).values()
    if isinstance(each, abc.ABCMeta)
)
#: Limits that only code changes; the others are set by init when a run begins.
_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK, resource.RLIMIT_CORE)
_SIGNALS = tuple(sorted(signal.valid_signals() - {signal.SIGINT}))
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
#: What an event loop is set to.
_OF_LOOPS = ("_debug", "_task_factory", "_exception_handler", "_default_executor")


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _import_hooks() -> list[object]:
    return [*sys.meta_path, *sys.path_hooks]


def _descriptors() -> dict[int, str]:
    """Return what is behind each open descriptor."""
    kinds: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself is closed by now
            kinds[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return kinds


def _position(number: int) -> str:
    """Return where an open file is, and how it was opened. Raises: NotDetermined of what has no position."""
    kind = os.readlink(f"/proc/self/fd/{number}")
    loop = current_loop()
    if kind.startswith("anon_inode:") or (loop is not None and number in _of_loop(loop)):
        return ""
    try:
        return f"{kind} {os.lseek(number, 0, os.SEEK_CUR)} {fcntl.fcntl(number, fcntl.F_GETFL)}"
    except OSError:
        raise NotDetermined(f"what is in {kind.partition(':')[0]} {number} cannot be compared") from None


def _of_loop(loop: Any) -> set[int]:
    ends = (getattr(loop, name, None) for name in ("_ssock", "_csock", "_selector"))
    return {end.fileno() for end in ends if end is not None}


def _owners() -> Iterator[tuple[Any, Mapping[str, object]]]:
    """Yield every module, and every class in one, with their contents."""
    seen: set[int] = set()
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType):
            continue
        held = vars(module)
        yield module, held
        for each in list(held.values()):
            if isinstance(each, type) and id(each) not in seen:
                seen.add(id(each))
                yield each, vars(each)


def _loggers() -> Iterator[list[object]]:
    yield [logging.root.manager.disable, dict(logging._levelToName), logging.raiseExceptions]
    for name, logger in sorted({"root": logging.root, **logging.root.manager.loggerDict}.items()):
        if isinstance(logger, logging.Logger) and (
            logger.level or logger.handlers or logger.filters or logger.disabled
        ):
            handlers = [_handler(each) for each in logger.handlers]
            yield [name, logger.level, logger.propagate, logger.disabled, logger.filters, handlers]


def _is_fixed(value: object) -> bool:
    """Return whether a value is no data that code changes in place: a plain one, a function, a class, a module."""
    fixed = (int, float, str, bytes, type(None), types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)
    return isinstance(value, fixed)


def _written_by_loggers() -> Iterator[object]:
    """Yield what the handlers of loggers hold, such as a buffer: any record may change it."""
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        for handler in logger.handlers if isinstance(logger, logging.Logger) else ():
            yield from vars(handler).values()


def _handler(handler: logging.Handler) -> list[object]:
    formatter = handler.formatter
    words = None if formatter is None else (formatter._fmt, formatter.datefmt, type(formatter))
    return [type(handler), handler.level, handler.filters, words]


def _tree() -> Iterator[tuple[str, os.stat_result]]:
    """Yield the contents of the folders that code can write to."""
    todo = list(_FOLDERS)
    while todo:
        folder = todo.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name == "__pycache__" or (folder == TEMPORARY and entry.name.startswith(("matplotlib", "duckdb"))):
                continue
            state = entry.stat(follow_symlinks=False)
            yield entry.path, state
            if stat.S_ISDIR(state.st_mode):
                todo.append(entry.path)


def _content(path: str) -> str:
    hashed = sha256()
    try:
        with open(path, "rb") as handle:
            while data := handle.read(1 << 20):
                hashed.update(data)
    except OSError as error:
        return f"unreadable {error.errno}"
    return hashed.hexdigest()[:32]


# -- random state ----------------------------------------------------------------------------------------------------


def _random(reader: Reader) -> None:
    reader.made(random.getstate())
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        reader.made(numpy.random.get_state(legacy=False))


def _kept_random() -> str:
    numpy: Any = sys.modules.get("numpy")
    states = (random.getstate(), None if numpy is None else numpy.random.get_state(legacy=True))
    return base64.b64encode(pickle.dumps(states)).decode()


def restore_random(kept: str) -> None:
    """Set the random state to one that was kept."""
    own, numpys = pickle.loads(base64.b64decode(kept))  # noqa: S301 - the sandbox's own word to itself
    random.setstate(own)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and numpys is not None:
        numpy.random.set_state(numpys)
