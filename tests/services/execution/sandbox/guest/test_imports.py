"""What runs inside the sandbox needs the standard library, and the protocol."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.execution.sandbox import guest, protocol

SANDBOX = Path(guest.__path__[0]).parent
FILES = sorted(file for package in (guest, protocol) for file in Path(package.__path__[0]).glob("*.py"))
#: Decoding a value of such a library imports it, where it is installed; nothing else does.
VALUES = {"exact.py": {"numpy", "pandas"}}
OURS = ("services.execution.sandbox.guest", "services.execution.sandbox.protocol")


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SANDBOX)))
def test_the_guest_imports_the_standard_library_only(file: Path) -> None:
    others = {name for name in imported(file) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not name.startswith(OURS)} == VALUES.get(file.name, set())
