"""What reads or computes what a tenant sent runs in a process with bounds: the gateway loads none of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: Parsers and engines whose cost a tenant's input decides.
_ENGINES = {
    "jinja2", "yaml", "pyarrow", "duckdb", "polars", "pandas", "openpyxl", "fastexcel", "tarfile", "zipfile", "lxml",
    "shared.evaluations.expected_table", "shared.evaluations.expected_flow", "shared.reading",
}  # fmt: skip
#: What a bounded process runs, and what reads only what the operator wrote.
_ALLOWED = {
    "services/gateway/tables/binary.py": "a task",
    "services/gateway/tables/cells.py": "a task",
    "services/gateway/tables/opened.py": "a task",
    "services/gateway/tables/plain_frames.py": "a task",
    "services/gateway/tables/profile.py": "a task",
    "services/gateway/tables/rows.py": "a task",
    "services/gateway/tables/tasks.py": "a task",
    "services/gateway/tables/text.py": "a task",
    "services/gateway/jobs/suites.py": "reads an expected table of a body, in time that is linear in it",
    "shared/evaluations/scoring.py": "a task",
    "shared/llm/templates.py": "a task for callers' texts; what is published is the operator's",
    "shared/llm/endpoints.py": "the operator's file",
    "shared/llm/scripted/script.py": "the operator's file",
    "shared/llm/tool_calls/data.py": "only nodes that shared/plain_yaml.py has bounded",
    "shared/plain_yaml.py": "bounds aliases, depth and size before it builds anything",
    "shared/stacks/reading.py": "the operator's rules",
}


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_engines_are_imported_where_they_are_bounded() -> None:
    importing = set()
    for folder in ("services/gateway", "services/reconciler", "shared"):
        for file in (ROOT / folder).rglob("*.py"):
            if file.is_relative_to(ROOT / "shared" / "reading"):
                continue  # an engine itself: only the bounded processes of search and execution import it
            names = set(_imported(file))
            if any(name == engine or name.startswith(f"{engine}.") for name in names for engine in _ENGINES):
                importing.add(file.relative_to(ROOT).as_posix())
    assert importing == set(_ALLOWED)


@pytest.mark.slow
def test_a_gateway_that_has_started_has_loaded_no_engine_of_tables() -> None:
    program = "import sys, services.gateway.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"pyarrow", "duckdb", "polars", "pandas", "openpyxl"} & set(loaded.stdout.split())
