"""Plugins: modules that the operator names; each adds rows to the tables of job kinds, languages or vendors.

A plugin is a module with a function ``register()``, which calls ``register(spec)`` of the tables it adds to. It is
part of every process that loads it, with all its rights: nothing of it runs in a sandbox. All processes of an
installation load the same plugins before they read a table, so no table may be read while a module is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable


def load_plugins(modules: Iterable[str]) -> None:
    """Import each module and call its ``register()``; once, when the process starts.

    Raises: ImportError for a module that does not exist; ValueError for a row whose name is taken.
    """
    for module in modules:
        importlib.import_module(module).register()
