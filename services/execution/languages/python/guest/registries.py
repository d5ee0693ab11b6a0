"""What modules of the standard library keep for the whole process: registries, defaults, shared objects."""

from __future__ import annotations

import operator
import sys
import time
import types
from collections.abc import Iterator, Set

from services.execution.languages.python.guest.digests import NotDetermined, Reader, Surroundings

#: Modules whose state is compared elsewhere, or changes whatever code does.
_KNOWN = (
    "__future__ _thread abc asyncio builtins decimal gc locale logging os random re sys tempfile threading time typing"
    " uuid warnings weakref"
)
_ELSEWHERE = frozenset(_KNOWN.split())
_OWN_NOTES = ("cache", "count", "lock", "memo")  #: in names of what a module notes for itself
_NO_STATE = (
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.GenericAlias, types.UnionType),
)
_SECONDS = 0.1


class Registries:
    """The state of the modules that the code has named, where it is not as it was before."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._before: dict[str, dict[str, str | list[object]]] = {}  #: module -> name -> state

    def will_use(self, modules: Set[str]) -> None:
        """Note how these modules are, with their parts, before the code runs that names them."""
        tops = {name.partition(".")[0] for name in modules} & sys.stdlib_module_names - _ELSEWHERE
        for name in sorted(sys.modules):
            if name.partition(".")[0] in tops | {f"_{top}" for top in tops} and name not in self._before:
                self._before[name] = self._state(name)
        for top in tops:
            self._before.setdefault(top, {})

    def read(self, reader: Reader) -> None:
        """Add what is not as it was before. Raises: NotDetermined for what has changed and cannot be compared."""
        for module, before in self._before.items():
            for name, now in self._state(module).items():
                was = before.get(name)
                if isinstance(now, str):
                    if now != was:
                        reader.tag(f"{module}.{name} {now}")
                elif isinstance(was, str) or (was is not None and not _are_same(now, was)):
                    raise NotDetermined(f"what is registered with {module.lstrip('_')} cannot be compared")

    def _state(self, module: str) -> dict[str, str | list[object]]:
        """Return a digest of each part, or what it holds where that cannot be compared."""
        until = time.thread_time() + _SECONDS
        state: dict[str, str | list[object]] = {}
        for name, value in _held(sys.modules.get(module)):
            reader = Reader(self._around, until, [])
            try:
                reader.value(value)
                state[name] = reader.digest()
            except Exception:  # a library refuses in its own way
                state[name] = [*value.keys(), *value.values()] if isinstance(value, dict) else _listed(value)
        return state


def _are_same(some: list[object], others: list[object]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, set)) else []


def _held(module: types.ModuleType | None) -> Iterator[tuple[str, object]]:
    for name, value in [] if module is None else list(vars(module).items()):
        if name.startswith("__") or any(note in name.lower() for note in _OWN_NOTES):
            continue
        if isinstance(value, types.MethodType):
            yield name, value.__self__
        elif isinstance(value, type):
            for each, held in list(vars(value).items()):
                if isinstance(held, (dict, list, set)) and not each.startswith("__"):
                    yield f"{name}.{each}", held
        elif not isinstance(value, _NO_STATE):
            yield name, value
