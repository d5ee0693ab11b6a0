"""Modules share the installation of their lane, and nothing else."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.support.scopes import LANES

_TESTS = Path(__file__).parents[1]
_FOLDER = _TESTS / "assay"


def test_what_uses_the_shared_installation_is_in_one_lane() -> None:
    modules = [module for lane in LANES for module in lane]
    users = [path.relative_to(_FOLDER).with_suffix("") for path in _FOLDER.rglob("test_*.py") if _uses_it(path)]
    assert sorted(modules) == sorted(map(str, users))


def _uses_it(module: Path) -> bool:
    """Whether a test or a fixture takes ``shell``, and the module has none of its own."""
    functions = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)]
    takers = [node for node in functions if node.name.startswith("test_") or node.decorator_list]
    taken = {argument.arg for node in takers for argument in node.args.args}
    return "shell" in taken and "shell" not in {node.name for node in functions}


def test_no_two_modules_use_the_same_folder() -> None:
    """They may run in one worker, where one of them finds what the other has left."""
    users = defaultdict[str, set[str]](set)
    for module in _TESTS.rglob("test_*.py"):
        for name in re.findall(r'servers_folder / "([^"]+)"', module.read_text("utf-8")):
            users[name].add(module.name)
    assert users
    assert {name: modules for name, modules in users.items() if len(modules) > 1} == {}
