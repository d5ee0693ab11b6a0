"""What code may change outside of its own names, as its text shows it."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SETTERS = ("setattr", "delattr", "__dict__", "vars", "patch", "__delattr__", "register_")
_REGISTERS = re.compile(r"(?:un)?register|addaudithook|(?:append|prepend)_?hook")
_SETS = re.compile(r"(?:set|enable|disable)_")  #: functions of modules that set what the whole process uses
_COMPARED = frozenset(["matplotlib", "numpy", "pandas", "seaborn"])  #: packages whose settings are compared
#: Modules that do not list what is registered with them; of other modules of the standard library it is compared.
_LISTS_NOTHING = frozenset(["atexit", "codecs", "faulthandler", "os", "sqlite3", "sys"])
_SINGLE = frozenset(["decimal", "logging", "matplotlib"])  #: what their functions return is compared
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_UNKNOWN = object()


@dataclass(frozen=True)
class Stores:
    attributes: frozenset[str] = frozenset()  #: names of attributes that may be set
    modules: frozenset[str] = frozenset()  #: of libraries, that the code names
    hidden: str | None = None  #: why it may change what nothing lists


def stores_of(code: str, space: Mapping[str, object]) -> Stores:
    """Return what this code, and what it defines, may change outside of its own names."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {**space, **dict(_imported(nodes))}
    modules = {each.__name__ for each in names.values() if isinstance(each, types.ModuleType)}
    modules |= {name for node in nodes for name in _modules_of(node)}
    hidden = next((why for node in nodes if (why := _hidden(node, names)) is not None), None)
    return Stores(frozenset(_attributes(code, nodes, space)), frozenset(modules), hidden)


def _attributes(code: str, nodes: list[ast.AST], space: Mapping[str, object]) -> set[str]:
    stored = {each.attr for each in nodes if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load)}
    if any(setter in code for setter in _SETTERS):
        texts = [each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        texts += [name for each in nodes if isinstance(each, ast.keyword) and (name := each.arg)]
        for value in list(space.values()):
            texts += [value] if type(value) is str else []
            texts += [each for each in value if type(each) is str] if type(value) in (list, tuple, dict, set) else []  # type: ignore[attr-defined]
        for text in texts[:10_000]:
            stored |= set(_IDENTIFIER.findall(text[:1000]))
    return stored


def _modules_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, object]]:
    """Yield the names that imports will set, of modules that are loaded; others are not known."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name if each.asname else each.name.partition(".")[0]
                yield each.asname or top, sys.modules.get(top, _Unloaded(top))
        elif isinstance(node, ast.ImportFrom) and node.module:
            held = vars(sys.modules.get(node.module, types))
            for each in node.names:
                yield each.asname or each.name, held.get(each.name, _Unloaded(node.module))


@dataclass(frozen=True)
class _Unloaded:
    """What comes from a module that is not loaded yet."""

    module: str


def _found(node: ast.expr, names: Mapping[str, object]) -> object:
    """Return the object that a dotted name of a module or its content stands for."""
    if isinstance(node, ast.Name):
        return names.get(node.id, _UNKNOWN)
    if not isinstance(node, ast.Attribute):
        return _UNKNOWN
    holder = _found(node.value, names)
    if isinstance(holder, _Unloaded):
        return holder
    return vars(holder).get(node.attr, _UNKNOWN) if isinstance(holder, types.ModuleType | type) else _UNKNOWN


def _library(value: object) -> str | None:
    """Return the name of the package that a module, function or class is from; none when it is not from one."""
    if isinstance(value, _Unloaded):
        return value.module.partition(".")[0]
    if isinstance(value, types.ModuleType):
        name: object = value.__name__ if value.__spec__ is not None else None
    else:
        callables = types.FunctionType | types.BuiltinFunctionType | types.MethodType | type
        name = value.__module__ if isinstance(value, callables) else type(value).__module__
    if not isinstance(name, str) or name in ("__main__", "builtins"):
        return None
    top = name.partition(".")[0].lstrip("_")
    return "os" if top == "posix" else top


def _hidden(node: ast.AST, names: Mapping[str, object]) -> str | None:
    """Return why a node may change what nothing lists."""
    if isinstance(node, ast.Call):
        return _hidden_call(node, names)
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return _hidden_store(node.value, names)
    if "ctypes" in {name.partition(".")[0] for name in _modules_of(node)}:
        return "memory that is written by its address cannot be compared"
    return None


def _hidden_call(call: ast.Call, names: Mapping[str, object]) -> str | None:
    called = call.func
    if isinstance(called, ast.Name) and called.id in ("setattr", "delattr") and call.args:
        return _hidden_store(call.args[0], names)
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    holder = _found(called.value if isinstance(called, ast.Attribute) else called, names)
    library = _library(holder)
    if _SETS.match(name) and isinstance(holder, types.ModuleType | _Unloaded) and library not in _COMPARED:
        known = library is None or library in sys.stdlib_module_names
        return None if known else f"what the code has set of {library} cannot be compared"
    if _REGISTERS.match(name) is None or library is None:
        return None
    if library in sys.stdlib_module_names and library not in _LISTS_NOTHING:
        return None
    return f"what the code has registered with {library} cannot be listed"


def _hidden_store(base: ast.expr, names: Mapping[str, object]) -> str | None:
    value = _found(base, names)
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType) and _library(value) is not None:
        return f"what the code has changed of a function of {_library(value)} cannot be compared"
    while isinstance(base, ast.Attribute | ast.Subscript):
        base = base.value
    if not isinstance(base, ast.Call):
        return None
    called = _found(base.func, names)
    library = _library(called)
    if library is None or library in _SINGLE or isinstance(called, type):
        return None
    return f"what the code has changed of an object of {library} cannot be compared"
