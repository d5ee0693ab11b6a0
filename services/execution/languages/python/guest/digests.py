"""What every name holds, in short: equal digests are equal values, down to which parts of them are one object."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import builtins
import collections
import functools
import gc
import marshal
import random
import re
import struct
import sys
import time
import types
import weakref
from collections.abc import Callable, Container, Iterable, Mapping
from copyreg import dispatch_table
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from services.execution.languages.python.guest import reach
from services.execution.sandbox.protocol.wire import Json

# The code may have other built-ins by now; what follows keeps those of its import.
globals()["__builtins__"] = dict(vars(builtins))

SECONDS = 0.5  #: for all names together; what is left then is not determined
_BYTES = 400_000_000  #: that are read in a second
_SWIFT = 1_000_000  #: bytes that are read whatever the time
_DEEPEST = 200
_PLAIN = frozenset([int, float, str, bool, type(None), bytes, complex])
_NO_TEXT = _PLAIN - {str}
_EMPTY: dict[object, object] = {}
_ITERATED: tuple[Iterable[object], ...] = (
    *([], (), "", "\u00e9", b"", _EMPTY, set(), range(1), range(2**70), _EMPTY.values(), _EMPTY.items(), reversed([])),
)
_ITERATORS = tuple(type(iter(each)) for each in _ITERATED)
_OPAQUE_LIBRARIES = ("matplotlib", "seaborn", "mpl_toolkits", "duckdb", "_duckdb", "sqlite3", "threading", "_thread")
_SKIPPED = frozenset(["__dict__", "__weakref__", "_abc_impl", "__firstlineno__", "__static_attributes__"])
_OF_MODULES = frozenset(["__builtins__", "__cached__", "__loader__", "__spec__", "__file__", "__doc__", "__package__"])
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque, bytearray, str, bytes, int, float, complex)


class NotDetermined(Exception):
    """A value that cannot be compared; the text says why."""


class Surroundings:
    """What distinguishes the code's own objects from those of libraries."""

    def __init__(self, space: dict[str, object]) -> None:
        self.space = space
        self.modules: dict[str, types.ModuleType] = {}  #: that the code brought: of its files, or made by it

    def is_own(self, module: object) -> bool:
        return module in ("__main__", None) or module in self.modules


class Reader:
    """Reads values into one digest; of each object that can change it notes which one it is."""

    def __init__(self, around: Surroundings, until: float, alive: list[object]) -> None:
        self.around = around
        self.changing: set[int] = set()  #: ids of the objects that can change
        self.lent: set[int] = set()  #: ids of arrays that a table may only have borrowed
        self.refs: set[str] = set()
        self._parts: list[bytes] = []
        self._numbers: dict[int, int] = {}
        self._places: dict[int, int] = {}  #: of the buffers of arrays
        self._alive = alive  #: objects made on the way, so that no other gets their ids
        self._until = until
        self._count = 0
        self._depth = 0

    def digest(self) -> str:
        return sha256(b"".join(self._parts)).hexdigest()[:32]

    def tag(self, text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        self._parts.append(b"%d:" % len(raw) + raw)

    def raw(self, data: bytes | memoryview) -> None:
        self.afford(len(data))
        self._parts.append(sha256(data).digest())

    def afford(self, size: int) -> None:
        """Refuse what would take too long to read, before it is copied. Raises: NotDetermined."""
        if size > _SWIFT and size > (self._until - time.thread_time()) * _BYTES:
            raise NotDetermined("it is too large to compare")

    def atom(self, value: object) -> None:
        if isinstance(value, (str, bytes)) and len(value) > _SWIFT:
            self.afford(len(value))
            hashed = sha256()
            for start in range(0, len(value), _SWIFT):
                part = value[start : start + _SWIFT]
                hashed.update(part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))
            self.tag(f"{type(value).__name__} {hashed.hexdigest()}")
            return
        self._parts.append(_atom(value))

    def value(self, value: object) -> None:
        """Add a value to the digest. Raises: NotDetermined, RecursionError, and what a library raises."""
        kind = type(value)
        if kind in _PLAIN:
            self.atom(value)
            return
        self._count += 1
        if self._count % 64 == 0 and time.thread_time() > self._until:
            raise NotDetermined("comparing it takes too long")
        if self._depth > _DEEPEST:
            raise NotDetermined("it is nested too deeply to compare")
        if self._is_known(value, kind):
            return
        self._depth += 1
        try:
            read = _READERS.get(kind)
            if read is not None:
                read(self, value)
            else:
                self._other(value, kind)
        finally:
            self._depth -= 1

    def _is_known(self, value: object, kind: type) -> bool:
        """Put a number in the place of an object that has been read."""
        number = self._numbers.get(id(value))
        if number is not None:
            self._parts.append(b"@%d;" % number)
            return True
        self._numbers[id(value)] = len(self._numbers)
        if kind not in _FIXED:
            self.changing.add(id(value))
        if any(map(self._calls_back, weakref.getweakrefs(value))):
            self.refs.add(reach.EVERYTHING)  # code runs when it is gone
        return False

    def _calls_back(self, reference: Any) -> bool:
        callback = reference.__callback__
        if isinstance(callback, types.FunctionType | types.MethodType):
            return self.around.is_own(callback.__module__)
        return callback is not None and not isinstance(getattr(callback, "__self__", None), weakref.ref)

    def made(self, value: object) -> None:
        """Read what was made only to be read."""
        self._alive.append(value)
        self.value(value)
        self.changing.discard(id(value))

    # -- containers --------------------------------------------------------------------------------------------------

    def items(self, tag: str, values: Iterable[object], size: int) -> None:
        self.tag(f"{tag}{size}")
        held = values if isinstance(values, (list, tuple)) else list(values)
        kinds = set(map(type, held))
        if kinds <= _PLAIN and not any(isinstance(each, (str, bytes)) and len(each) > 100_000 for each in held):
            self.afford(8 * len(held))
            self.raw(marshal.dumps(list(held), 2 if kinds <= _NO_TEXT else 0))
            return
        for each in held:
            self.value(each)

    def mapping(self, tag: str, pairs: Mapping[Any, Any]) -> None:
        if "__builtins__" in pairs:
            pairs = {name: each for name, each in pairs.items() if name != "__builtins__"}
        self.items(f"{tag}k", list(pairs.keys()), len(pairs))
        self.items(f"{tag}v", list(pairs.values()), len(pairs))

    # -- code --------------------------------------------------------------------------------------------------------

    def code(self, code: types.CodeType) -> None:
        self.tag(code.co_name)
        self.raw(code.co_code)
        self.raw(code.co_exceptiontable)
        counts = (code.co_flags, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
        self.items("code", [*counts, *code.co_names, "", *code.co_varnames, "", *code.co_freevars], 0)
        for name in code.co_names:
            self.refs.add(reach.LEADS.get(name, name))
            if name in sys.modules and (lead := reach.module_leads(name)):
                self.refs.add(lead)
        self.tag(str(len(code.co_consts)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
                continue
            if isinstance(constant, str):
                self.refs |= reach.words_of(constant)
                if reach.text_leads(constant):
                    self.refs.add(reach.LIBRARY)
            self.value(constant)

    def function(self, function: types.FunctionType) -> None:
        own = function.__globals__ is self.around.space or self.around.is_own(function.__globals__.get("__name__"))
        if own and self._is_named(function, function.__name__):
            return
        if own:
            self.tag("function")
            outer, self.refs = self.refs, set()
            self.code(function.__code__)
            if function.__globals__ is self.around.space:
                self.refs |= outer
            else:
                self.refs = outer | {reach.MODULES, reach.LIBRARY}
                self._globals(function.__globals__)
        else:
            self.tag(f"function {function.__module__}.{function.__qualname__}")
            self.library(function.__globals__.get("__name__"))
        if own or function.__closure__:
            for cell in function.__closure__ or ():
                self._cell(cell)
        if own:
            self.made((function.__defaults__, function.__kwdefaults__, function.__annotations__))
            self.made((function.__name__, function.__qualname__, function.__doc__, function.__module__))
        if function.__dict__ and (own or "__wrapped__" in function.__dict__):
            self.mapping("attributes", function.__dict__)

    def _globals(self, space: dict[str, object]) -> None:
        """Read the names that a function of the code's sees, where they are not those of the document."""
        if self._numbers.setdefault(id(space), len(self._numbers)) == len(self._numbers) - 1:
            self.changing.add(id(space))
            self.mapping("globals", {name: each for name, each in space.items() if name not in _OF_MODULES})

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self.tag("empty cell")
            return
        number = self._numbers.get(id(cell))
        self.changing.add(id(cell))
        if number is not None:
            self._parts.append(b"@%d;" % number)
            return
        self._numbers[id(cell)] = len(self._numbers)
        self.value(content)

    def _is_named(self, value: object, name: str) -> bool:
        """Put its name in the place of a function or class that a name of the code holds."""
        if self._depth > 1 and self.around.space.get(name) is value:
            self.tag(f"named {name}")
            self.refs.add(name)
            self.changing.discard(id(value))
            return True
        return False

    def library(self, module: object) -> None:
        lead = reach.module_leads(str(module))
        if lead is not None:
            self.refs.add(lead)

    def builtin(self, function: types.BuiltinFunctionType) -> None:
        holder = function.__self__
        self.tag(f"builtin {function.__qualname__}")
        self.changing.discard(id(function))
        if holder is None or isinstance(holder, types.ModuleType):
            name = function.__module__ or ""
            self.tag(name)
            lead = reach.LEADS.get(function.__name__) if name == "builtins" else reach.module_leads(name.lstrip("_"))
            self.refs |= {lead} if lead else set()
        else:
            self.value(holder)

    def method(self, method: types.MethodType) -> None:
        self.tag("method")
        self.changing.discard(id(method))
        self.value(method.__func__)
        self.value(method.__self__)

    def module(self, module: types.ModuleType) -> None:
        if module.__name__ in self.around.modules or module.__spec__ is None:
            self.tag(f"module {module.__name__}")
            self.refs |= {reach.LIBRARY, reach.MODULES}
            self._globals(vars(module))
            return
        self.changing.discard(id(module))
        self.tag(f"library {module.__name__}")
        self.library(module.__name__)

    def a_class(self, kind: type) -> None:
        if not self.around.is_own(kind.__module__):
            self.changing.discard(id(kind))
            self.tag(f"class {kind.__module__}.{kind.__qualname__}")
            if kind.__module__ != "builtins":
                self.library(kind.__module__.lstrip("_"))
            return
        if self._is_named(kind, kind.__name__):
            return
        self.tag(f"own class {kind.__qualname__} {kind.__name__}")
        self.value(type(kind))
        self.items("bases", kind.__bases__, len(kind.__bases__))
        content = {name: each for name, each in kind.__dict__.items() if name not in _SKIPPED}
        self.mapping("content", content)
        if "_abc_impl" in kind.__dict__:
            members = [member for reference in _abc._get_dump(kind)[0] if (member := reference()) is not None]
            self.tag(f"registered {sorted(member.__qualname__ for member in members)}")

    def cached_function(self, function: Any) -> None:
        """Read what it wraps, and what it remembers, from the least to the most recently used."""
        self.tag("cache")
        self.made(tuple(function.cache_parameters().values()))
        self.value(function.__wrapped__)
        for held in gc.get_referents(function):
            if held is function.__wrapped__ or isinstance(held, type) or held is function.__dict__:
                continue
            if type(held) is dict:
                if function.cache_parameters()["maxsize"] is None:
                    self.mapping("remembered", held)
                continue
            self.value(held)

    # -- the rest ----------------------------------------------------------------------------------------------------

    def _other(self, value: object, kind: type) -> None:
        if isinstance(value, type):
            self.a_class(value)
        elif isinstance(value, types.ModuleType):
            self.module(value)
        elif (read := _LIBRARY_READERS.get(_module_of(kind))) is not None and read(self, value, kind):
            return
        elif any(self.around.is_own(each.__module__) for each in kind.__mro__):
            self._own_instance(value, kind)
        else:
            self._library_instance(value, kind)

    def _own_instance(self, value: object, kind: type) -> None:
        self.tag("instance")
        self.value(kind)
        for each in kind.__mro__:
            slots = each.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                place = each.__dict__.get(slot)
                if isinstance(place, types.MemberDescriptorType):
                    try:
                        content = place.__get__(value)
                    except AttributeError:
                        continue
                    self.tag(str(slot))
                    self.value(content)
        try:
            content = object.__getattribute__(value, "__dict__")
        except AttributeError:
            content = None
        if type(content) is dict:
            self.mapping("attributes", content)
        self._content(value, kind)

    def _content(self, value: Any, kind: type) -> None:
        """Read what an instance holds as a kind of a built-in type."""
        for base in kind.__mro__:
            if base is object or base.__flags__ & (1 << 9):  # made by a class statement
                continue
            if base is dict:
                self.items("k", list(dict.keys(value)), 0)
                self.items("v", list(dict.values(value)), 0)
            elif base in _CONTAINERS and base in _READERS:
                self.items(base.__name__, list(cast("Any", base).__iter__(value)), 0)
            elif base in _CONTAINERS:
                self._parts.append(_atom(cast("Any", base).__add__(value, base())))
            elif issubclass(base, BaseException):
                self._error(value)
            elif base is random.Random.__base__:
                self.made(random.Random.getstate(value))
            else:
                raise NotDetermined(f"it is a kind of {base.__name__}, which cannot be compared")
            return

    def error(self, value: BaseException) -> None:
        self.tag("error")
        self.value(type(value))
        self._error(value)

    def _error(self, value: BaseException) -> None:
        if value.__traceback__ is not None:
            raise NotDetermined("it holds a traceback, which cannot be compared")
        self.made([*value.args, value.__cause__, value.__context__, value.__suppress_context__])
        self.mapping("attributes", value.__dict__)
        for kind in type(value).__mro__:
            for name, place in kind.__dict__.items():
                if isinstance(place, types.MemberDescriptorType) and name not in _OF_ERRORS:
                    self.made(getattr(value, name, None))

    def _library_instance(self, value: object, kind: type) -> None:
        module = _module_of(kind)
        if value is _COMMON_RANDOM:
            self.changing.discard(id(value))
            self.tag("random")
            self.refs.add(reach.RANDOM)
            return
        if isinstance(value, BaseException):
            self.error(value)
            return
        if isinstance(value, _SUSPENDED):
            self._suspended(value)
        elif isinstance(value, weakref.ref) or module == "weakref":
            self.refs.add(reach.EVERYTHING)  # whether it is dead depends on every other name
            raise NotDetermined("a weak reference cannot be compared")
        if module in _OPAQUE_LIBRARIES or isinstance(value, _OPAQUE):
            raise NotDetermined(f"{_article(kind.__name__)} cannot be compared")
        if kind.__module__ != "builtins":
            self.library(kind.__module__.lstrip("_"))
        reduce = dispatch_table.get(kind)
        try:
            reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception:
            raise NotDetermined(f"{_article(kind.__name__)} cannot be compared") from None
        self.tag(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(reduced, str):
            self.tag(reduced)
            return
        for part in reduced:
            if isinstance(part, types.FunctionType):
                self.tag(part.__qualname__)
            elif part is not None and not isinstance(part, (tuple, type)) and hasattr(part, "__next__"):
                self.made(list(part))
            else:
                self.made(part)
            self.changing.discard(id(part))

    def _suspended(self, value: Any) -> None:
        """Note the names that the rest of its code reads."""
        prefix = {types.GeneratorType: "gi", types.CoroutineType: "cr"}.get(type(value), "ag")
        self.code(getattr(value, f"{prefix}_code"))
        frame = getattr(value, f"{prefix}_frame")
        for each in () if frame is None else frame.f_locals.values():
            self.value(each)


def _atom(value: object) -> bytes:
    if isinstance(value, bool) or value is None:
        return repr(value).encode()
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
        return b"s%d:" % len(raw) + raw
    if isinstance(value, bytes):
        return b"b%d:" % len(value) + value
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    if isinstance(value, complex):
        return b"c" + struct.pack("<dd", value.real, value.imag)
    return b"i%x;" % cast("int", value)


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name.strip('_').replace('_', ' ')}"


def _module_of(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


_COMMON_RANDOM: object = random.random.__self__  # type: ignore[attr-defined]

#: What is read of an error by itself.
_OF_ERRORS = frozenset(["__suppress_context__", "args"])

_SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_OPAQUE = (
    *_SUSPENDED,
    types.FrameType,
    types.TracebackType,
    memoryview,
    type(sys.stdout),
)
_FIXED = frozenset(
    [
        *(tuple, frozenset, types.CodeType, range, slice, types.GetSetDescriptorType, types.MemberDescriptorType),
        *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, type(Ellipsis)),
        *(type(NotImplemented), types.MethodWrapperType, types.GenericAlias, object, re.Match, re.Pattern),
    ]
)


def _descriptor(reader: Reader, value: Any) -> None:
    reader.tag(f"{value.__objclass__.__module__}.{value.__qualname__}")


def _reduced(reader: Reader, value: Any) -> None:
    reader.tag(type(value).__name__)
    reduced = value.__reduce__()
    for part in reduced if isinstance(reduced, tuple) else (reduced,):
        reader._alive.append(part)
        reader.value(part)


def _property(reader: Reader, value: property) -> None:
    reader.tag("property")
    for part in (value.fget, value.fset, value.fdel):
        reader.value(part)


def _wrapped(reader: Reader, value: Any) -> None:
    reader.tag(type(value).__name__)
    reader.value(value.__func__)


def _partial(reader: Reader, value: functools.partial[object]) -> None:
    reader.tag("partial")
    reader.value(value.func)
    reader.made(value.args)
    reader.made(value.keywords)


def _match(reader: Reader, value: re.Match[str]) -> None:
    reader.tag("match")
    reader.made((value.re, value.string, value.pos, value.endpos, value.span(), value.groups(), value.lastindex))


def _named(reader: Reader, value: object) -> None:
    reader.tag(repr(value))


_READERS: dict[type, Callable[[Reader, Any], None]] = {
    list: lambda reader, value: reader.items("l", value, len(value)),
    tuple: lambda reader, value: reader.items("t", value, len(value)),
    set: lambda reader, value: reader.items("s", value, len(value)),
    frozenset: lambda reader, value: reader.items("z", value, len(value)),
    collections.deque: lambda reader, value: reader.items(f"d{value.maxlen} ", value, len(value)),
    dict: lambda reader, value: reader.mapping("m", value),
    types.MappingProxyType: lambda reader, value: reader.mapping("p", value),
    bytearray: lambda reader, value: reader.raw(memoryview(value)),
    types.FunctionType: Reader.function,
    types.BuiltinFunctionType: Reader.builtin,
    types.MethodType: Reader.method,
    types.CodeType: Reader.code,
    types.CellType: Reader._cell,
    functools._lru_cache_wrapper: Reader.cached_function,
    functools.partial: _partial,
    re.Match: _match,
    property: _property,
    staticmethod: _wrapped,
    classmethod: _wrapped,
    type(Ellipsis): _named,
    type(NotImplemented): _named,
    **dict.fromkeys(
        [
            *(types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType),
            *(types.WrapperDescriptorType, types.ClassMethodDescriptorType),
        ],
        _descriptor,
    ),
    **dict.fromkeys((*_ITERATORS, zip, map, filter, enumerate, reversed, range, slice), _reduced),
}


# -- arrays and tables -----------------------------------------------------------------------------------------------


def _numpy(reader: Reader, value: Any, kind: type) -> bool:
    numpy: Any = sys.modules["numpy"]
    if isinstance(value, numpy.ndarray):
        _array(reader, value, numpy)
    elif isinstance(value, numpy.generic):
        reader.changing.discard(id(value))
        reader.tag(f"scalar {value.dtype.str}")
        reader.raw(value.tobytes())
    elif isinstance(value, (numpy.dtype, numpy.ufunc)):
        reader.changing.discard(id(value))
        reader.tag(f"{kind.__name__} {value}")
        if getattr(value, "metadata", None):
            reader.made(dict(value.metadata))
    elif isinstance(value, numpy.random.Generator):
        reader.tag("generator")
        reader.value(value.bit_generator)
    elif isinstance(value, numpy.random.BitGenerator):
        reader.tag(kind.__name__)
        reader.made(value.state)
    elif isinstance(value, numpy.random.RandomState):
        reader.tag("random state")
        if value is numpy.random.mtrand._rand:
            reader.changing.discard(id(value))
            reader.refs.add(reach.RANDOM)
        else:
            reader.made(value.get_state(legacy=False))
    else:
        return False
    if not isinstance(value, numpy.dtype):
        reader.refs.add(reach.LIBRARY)
    return True


def _array(reader: Reader, value: Any, numpy: Any) -> None:
    kind = type(value)
    if kind is not numpy.ndarray and not isinstance(value, numpy.ma.MaskedArray):
        reader.tag(f"{kind.__module__}.{kind.__qualname__}")
        content = getattr(value, "__dict__", None)
        if content:
            reader.mapping("attributes", content)
    holder = _holder(value, numpy)
    if isinstance(holder.base, (memoryview, bytearray)) or _module_of(type(holder.base)) == "mmap":
        raise NotDetermined("an array over a buffer of something else cannot be compared")
    reader.changing.add(id(holder))
    place = value.__array_interface__["data"][0]
    offset = place - reader._places.setdefault(id(holder), place)
    if id(holder) not in reader._numbers:
        reader._numbers[id(holder)] = len(reader._numbers)
    flags = value.flags
    reader.tag(f"array {value.dtype.str} {value.shape} {offset} {flags.writeable} {flags.f_contiguous}")
    if value.dtype.metadata:
        reader.made(dict(value.dtype.metadata))
    if value.dtype.names:
        reader.tag(str(value.dtype))
    if isinstance(value, numpy.ma.MaskedArray):
        reader.made(numpy.ma.getmaskarray(value))
        reader.value(value.fill_value)
        reader.tag(str(value.hardmask))
        value = numpy.ma.getdata(value)
    if value.dtype.hasobject:
        reader.items("objects", value.ravel().tolist(), value.size)
        return
    plain = numpy.asarray(value)
    reader.afford(value.nbytes)
    dense = plain if plain.flags.c_contiguous else numpy.ascontiguousarray(plain)
    reader.raw(dense.reshape(-1).view(numpy.uint8).data if dense.size else b"")


def _holder(array: Any, numpy: Any) -> Any:
    """Return the array whose buffer this one shows."""
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def _pandas(reader: Reader, value: Any, kind: type) -> bool:
    pandas: Any = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        reader.tag(f"{kind.__module__}.{kind.__qualname__} {value.shape} {value.flags.allows_duplicate_labels}")
        reader.value(value.columns)
        reader.value(value.index)
        for number in range(value.shape[1]):
            _column(reader, value.iloc[:, number])
    elif isinstance(value, pandas.Series):
        reader.tag(f"{kind.__module__}.{kind.__qualname__} {value.shape} {value.flags.allows_duplicate_labels}")
        reader.value(value.name)
        reader.value(value.index)
        _column(reader, value)
    elif isinstance(value, pandas.MultiIndex):
        reader.tag("multi index")
        reader.made(list(value.names))
        reader.made(list(value.levels))
        reader.made([numbers.tolist() for numbers in value.codes])
        return True
    elif isinstance(value, pandas.RangeIndex):
        reader.tag(f"range {value.start} {value.stop} {value.step}")
        reader.value(value.name)
        return True
    elif isinstance(value, pandas.Index):
        reader.tag(f"{kind.__name__} {getattr(value, 'freqstr', None)}")
        reader.value(value.name)
        _column(reader, value)
        return True
    elif isinstance(value, pandas.api.extensions.ExtensionArray):
        _extension(reader, value)
    else:
        return False
    if (attributes := getattr(value, "attrs", None)) or kind.__module__ == "__main__":
        reader.made(dict(attributes or {}))
    if reader.around.is_own(kind.__module__):
        names = getattr(value, "_metadata", ())
        reader.made([getattr(value, name, None) for name in names])
        reader.value(kind)
    reader.refs.add(reach.LIBRARY)
    return True


def _column(reader: Reader, series: Any) -> None:
    array = series.array
    numpy: Any = sys.modules["numpy"]
    if type(array).__name__ == "NumpyExtensionArray":
        reader.afford(array.nbytes)
        values = array.to_numpy()
        reader.lent.add(id(_holder(values, numpy)))
        reader.tag(f"column {values.dtype.str} {values.flags.writeable}")
        if values.dtype.hasobject:
            reader.items("objects", values.tolist(), values.size)
        else:
            reader.raw(numpy.ascontiguousarray(values).reshape(-1).view(numpy.uint8).data if values.size else b"")
        return
    _extension(reader, array)


def _extension(reader: Reader, array: Any) -> None:
    numpy: Any = sys.modules["numpy"]
    reader.tag(f"column {array.dtype} {type(array).__name__} {len(array)}")
    if hasattr(array, "codes") and hasattr(array, "categories"):
        reader.raw(numpy.ascontiguousarray(array.codes).view(numpy.uint8).data if len(array) else b"")
        reader.value(array.categories)
        reader.tag(str(array.ordered))
    elif hasattr(array, "asi8"):
        reader.raw(numpy.ascontiguousarray(array.asi8).view(numpy.uint8).data if len(array) else b"")
        reader.tag(str(getattr(array, "freq", None)))
    elif hasattr(array, "__arrow_array__"):
        _arrow_data(reader, array.__arrow_array__())
    else:
        reader.items("objects", array.tolist(), len(array))


def _arrow(reader: Reader, value: Any, kind: type) -> bool:
    pyarrow: Any = sys.modules["pyarrow"]
    if not isinstance(value, (pyarrow.Table, pyarrow.RecordBatch, pyarrow.Array, pyarrow.ChunkedArray)):
        return False
    reader.changing.discard(id(value))
    reader.tag(kind.__name__)
    _arrow_data(reader, value)
    reader.refs.add(reach.LIBRARY)
    return True


def _arrow_data(reader: Reader, data: Any) -> None:
    pyarrow: Any = sys.modules["pyarrow"]
    if isinstance(data, (pyarrow.Array, pyarrow.ChunkedArray)):
        data = pyarrow.table({"": data})
    if isinstance(data, pyarrow.RecordBatch):
        data = pyarrow.Table.from_batches([data])
    reader.afford(2 * data.nbytes)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data.combine_chunks())
    reader.raw(memoryview(sink.getvalue()))


def _polars(reader: Reader, value: Any, kind: type) -> bool:
    if kind.__name__ not in ("DataFrame", "Series"):
        return False
    reader.tag(f"polars {kind.__name__} {getattr(value, 'name', '')} {getattr(value, 'schema', '')} {value.flags}")
    made = value.to_arrow()
    _arrow_data(reader, made)
    reader.refs.add(reach.LIBRARY)
    return True


_LIBRARY_READERS: dict[str, Callable[[Reader, Any, type], bool]] = {
    "numpy": _numpy,
    "pandas": _pandas,
    "pyarrow": _arrow,
    "polars": _polars,
}


# -- all names -------------------------------------------------------------------------------------------------------


@dataclass
class _Held:
    """A name as it was read last."""

    identity: int
    digest: dict[str, Json]
    changing: set[int]
    lent: set[int]


class Names:
    """The digests of all names: those that code could not reach are not read again."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._held: dict[str, _Held] = {}
        self._shared: dict[tuple[str, ...], str] = {}  #: names that share objects, and their common digest

    def digests(self, names: Mapping[str, object], reached: Container[str] | None) -> dict[str, dict[str, Json]]:
        """Return the digest of each name, and of those that share objects a common one."""
        until = time.thread_time() + SECONDS
        alive: list[object] = []
        before, self._held = self._held, {}
        read: set[str] = set()
        for name, value in names.items():
            held = before.get(name)
            if held is None or held.identity != id(value) or reached is None or name in reached:
                held = self._read_name(value, until, alive)
                read.add(name)
            self._held[name] = held
        groups = _groups(self._held)
        while partners := _unread(groups, read):  # they may have changed with what they share objects with
            for name in partners:
                self._held[name] = self._read_name(names[name], until, alive)
            read |= partners
            groups = _groups(self._held)
        made = {name: dict(held.digest) for name, held in self._held.items()}
        shared, self._shared = self._shared, {}
        for group in groups:
            common = None if read.intersection(group) else shared.get(group)
            if common is None:
                reader = Reader(self._around, until, alive)
                together = _read(reader, [names[name] for name in group])
                common = sha256(f"{group} {together['value']}".encode()).hexdigest()[:32]
            self._shared[group] = common
            for name in group:
                made[name]["shared"] = common
        return made

    def holding(self, objects: set[int]) -> set[str]:
        """Return the names that hold one of these objects, as the digests were made last."""
        return {name for name, held in self._held.items() if not objects.isdisjoint(held.changing)}

    def aliases(self, objects: Mapping[int, object]) -> dict[str, set[int]]:
        """Return the names that can be compared and hold some of these objects, by their ids, each with those."""
        compared = ((name, held) for name, held in self._held.items() if held.digest["value"] is not None)
        return {name: shared for name, held in compared if (shared := objects.keys() & held.changing)}

    def _read_name(self, value: object, until: float, alive: list[object]) -> _Held:
        reader = Reader(self._around, until, alive)
        return _Held(id(value), _read(reader, [value]), reader.changing, reader.lent)


def _unread(groups: Iterable[tuple[str, ...]], read: set[str]) -> set[str]:
    """Return the names that are not read yet, of groups of which one is."""
    return {name for group in groups if read.intersection(group) for name in group} - read


def _groups(held: Mapping[str, _Held]) -> list[tuple[str, ...]]:
    """Return the names that share objects which can change, sorted, in groups of two and more."""
    holders: dict[int, str] = {}
    leader = {name: name for name in held}

    def first(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for name, each in held.items():
        for identity in each.changing:
            leader[first(holders.setdefault(identity, name))] = first(name)
    for name, each in held.items():
        for identity in each.lent & holders.keys():
            leader[first(holders[identity])] = first(name)
    groups: dict[str, list[str]] = {}
    for name in sorted(held):
        groups.setdefault(first(name), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _read(reader: Reader, values: list[object]) -> dict[str, Json]:
    why: str | None = None
    try:
        for each in values:
            reader.value(each)
    except NotDetermined as refused:
        why = str(refused)
    except RecursionError:
        why = "it is nested too deeply to compare"
    except Exception as error:  # a library refuses in its own way
        why = f"comparing it raised {type(error).__name__}"
    if why is not None:
        _hold_all(reader, values)
        return {"value": None, "why": why, "refs": sorted({*reader.refs, reach.LIBRARY})}
    return {"value": reader.digest(), "refs": sorted(reader.refs)}


def _behind_code(reader: Reader, value: type | types.CodeType | types.FunctionType) -> list[object]:
    """Note the names that code reads, and return what else it holds."""
    if isinstance(value, type):
        return list(vars(value).values()) if reader.around.is_own(value.__module__) else []
    if isinstance(value, types.FunctionType):
        held: list[object] = [*(value.__closure__ or ()), value.__defaults__]
        return [value.__code__, *held] if reader.around.is_own(value.__module__) else held
    reader.refs |= {reach.LEADS.get(name, name) for name in value.co_names}
    return [each for each in value.co_consts if isinstance(each, types.CodeType)]


_MANY = 20_000  #: objects that are looked through behind one that cannot be compared
_UNKNOWN = -1  #: represents all objects that may be behind one that has too many


def _hold_all(reader: Reader, values: list[object]) -> None:
    """Note what is behind values that cannot be compared: it may change with them."""
    seen: set[int] = set()
    todo = list(values)
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, (type, types.CodeType, types.FunctionType)):
            seen.add(id(value))
            todo += _behind_code(reader, value)
            continue
        if type(value) in _PLAIN or value is reader.around.space:
            continue
        seen.add(id(value))
        if type(value) not in _FIXED:
            reader.changing.add(id(value))
        if len(seen) > _MANY:
            reader.changing.add(_UNKNOWN)
            return
        todo += gc.get_referents(value)
