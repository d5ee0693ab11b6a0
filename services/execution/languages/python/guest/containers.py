"""Lists, dictionaries and sets that libraries hold: what changes one by another name changes the library."""

from __future__ import annotations

import gc
import logging
import os
import sys
import types
import warnings
from collections.abc import Container, Iterator, Mapping

_KINDS = (list, dict, set)
_scanned: set[str] = set()
_held: dict[int, tuple[str, object]] = {}
_modules = [0]  #: how many were loaded when they were read last


def library_containers(own: Container[str]) -> Mapping[int, tuple[str, object]]:
    """Return by its id each container in a module or class of a library, with its place; ``own``: the code's modules.

    Modules are read once: the warm parent does that for those that it loads.
    """
    if len(sys.modules) != _modules[0]:
        _modules[0] = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if name not in _scanned and name not in own and getattr(module, "__spec__", None) is not None:
                _scanned.add(name)
                _held.update((id(each), (place, each)) for place, each in _of(name, module))
    _held.update((id(each), (place, each)) for place, each in _of_the_process())
    return _held


def _of(name: str, module: types.ModuleType) -> Iterator[tuple[str, object]]:
    for key, value in list(vars(module).items()):
        if key.startswith("__"):
            continue
        if type(value) in _KINDS:
            yield f"{name}.{key}", value
        elif isinstance(value, type) and value.__module__ == name:
            held = list(vars(value).items())
            yield from ((f"{name}.{key}.{each}", part) for each, part in held if type(part) in _KINDS)


def _of_the_process() -> Iterator[tuple[str, object]]:
    """Yield those that code often puts others in the place of, or that stand deeper."""
    yield from (("path", sys.path), ("argv", sys.argv), ("filters", warnings.filters), ("callbacks", gc.callbacks))
    yield from (("finders", sys.meta_path), ("hooks", sys.path_hooks))
    yield from (("environment", getattr(os.environ, "_data", None)), ("handlers", logging.root.handlers))
