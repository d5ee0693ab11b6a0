"""`make test` forgives an accident once, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNSTEADY = """
from pathlib import Path

def test_steady(): pass

def test_unsteady(tmp_path_factory):
    mark = Path(__file__).with_name("seen")
    seen = mark.exists()
    mark.touch()
    assert seen
"""
BROKEN = "def test_broken():\n    assert 1 == 2\n"


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = ["-c", "/dev/null", f"--rootdir={folder}", str(folder)]
    command = [sys.executable, "-m", "scripts.suite", *arguments]
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=False, timeout=120)


def test_an_accident_is_named_and_forgiven(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(UNSTEADY)
    done = _run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "unsteady" in done.stdout
    assert "test_it.py::test_unsteady" in done.stdout.splitlines()[-1]


BROKEN_THROUGHOUT = "\n".join(f"def test_{n}():\n    assert {n} < 0" for n in range(9))


@pytest.mark.parametrize("source", [UNSTEADY + BROKEN, BROKEN_THROUGHOUT, "import nothing_of_this_name"])
def test_what_fails_twice_or_often_or_cannot_run_fails(tmp_path: Path, source: str) -> None:
    (tmp_path / "test_it.py").write_text(source)
    assert _run(tmp_path).returncode != 0


def test_all_green_is_one_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_fine(): pass\n")
    done = _run(tmp_path)
    assert done.returncode == 0
    assert "once more" not in done.stdout
