"""What a kernel of Python consists of: put back before each call, as code of an earlier one may have replaced it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType

_OURS = "services.execution."
_OF_A_FUNCTION = ("__code__", "__defaults__", "__kwdefaults__")


@dataclass(frozen=True)
class OwnParts:
    """In tuples, which no code can change."""

    attributes: tuple[tuple[object, str, object], ...]  #: owner, name and value, of functions, classes and objects
    names: tuple[tuple[dict[str, object], str, object], ...]  #: the same of modules: owner is a name space


def own_parts(*objects: object) -> OwnParts:
    """Return the functions, classes and constants of our modules, the built-ins that they use, and the attributes of
    these objects, without what calls change.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
    functions = {id(each): each for module in modules for each in _functions_of(module)}
    attributes: list[tuple[object, str, object]] = []
    attributes += [(each, name, getattr(each, name)) for each in functions.values() for name in _OF_A_FUNCTION]
    for kind in (kind for module in modules for kind in _classes_of(module)):
        attributes += [(kind, name, getattr(kind, name)) for name, value in vars(kind).items() if _is_method(value)]
    for each in objects:
        attributes.append((each, "__class__", type(each)))
        attributes += [(each, name, value) for name, value in vars(each).items() if not isinstance(value, (bool, dict))]
    spaces = [vars(module) for module in modules]
    names = [(space, name, value) for space in spaces for name, value in space.items() if _is_constant(name, value)]
    names += [(vars(builtins), name, value) for name, value in vars(builtins).items()]
    return OwnParts(tuple(attributes), tuple(names))


def _classes_of(module: ModuleType) -> Iterator[type]:
    return (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)


def _functions_of(module: ModuleType) -> Iterator[FunctionType]:
    yield from (each for each in vars(module).values() if isinstance(each, FunctionType))
    for kind in _classes_of(module):
        for value in vars(kind).values():
            inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(inner, FunctionType):
                yield inner


def _is_method(value: object) -> bool:
    return isinstance(value, (FunctionType, property))


def _is_constant(name: str, value: object) -> bool:
    return not name.startswith("__") and not isinstance(value, (list, dict, set))
