"""Lanes hold exactly the modules that share the installation of the command's tests."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.scopes import LANES

_FOLDER = Path(__file__).parents[1] / "assay"


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
