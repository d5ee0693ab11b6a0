"""A public table that every Python has: its own library. What modules are for, and what its exceptions mean."""

from __future__ import annotations

import ast
import builtins
import json
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_TABLES = {
    "modules": {"facets": {"purpose": 1.0}, "fields": {"package": "bool"}},
    "exceptions": {"facets": {"meaning": 1.0}, "fields": {"base": "keyword"}},
}
_SKIPPED = frozenset({"antigravity", "this", "idlelib", "lib2to3"})


def write(folder: Path) -> None:
    """``tables.json`` for the collection, and a file of JSON lines for each table."""
    (folder / "tables.json").write_text(json.dumps(_TABLES))
    for name, records in (("modules", _modules()), ("exceptions", _exceptions())):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def _modules() -> Iterator[dict[str, object]]:
    folder = Path(sysconfig.get_path("stdlib"))
    for name in sorted(sys.stdlib_module_names - _SKIPPED):
        package = (folder / name / "__init__.py").is_file()
        file = folder / name / "__init__.py" if package else folder / f"{name}.py"
        if name.startswith("_") or not file.is_file():
            continue
        if text := ast.get_docstring(ast.parse(file.read_bytes())):
            facets = {"purpose": text.partition("\n\n")[0][:500]}
            yield {"id": name, "name": name, "text": text[:1000], "facets": facets, "fields": {"package": package}}


def _exceptions() -> Iterator[dict[str, object]]:
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException) and value.__name__ == name and value.__doc__:
            facets, fields = {"meaning": value.__doc__}, {"base": value.__bases__[0].__name__}
            yield {"id": name, "name": name, "text": value.__doc__, "facets": facets, "fields": fields}
