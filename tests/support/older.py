"""The code of an older commit of this repository, and processes that run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.platform import ROOT


def unpack(folder: Path, commit: str, *places: str) -> None:
    """The packages of the commit, and these places of it; skips where the history does not have it."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "assay", "migrations", "services", "shared"]
    try:
        archive = subprocess.run([*command, *places], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"the history of this checkout does not reach back to {commit}")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)  # Python 3.11.2 knows no filter for it


def start(folder: Path, module: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process of the code in this folder."""
    command = [sys.executable, "-P", "-m", module]
    return subprocess.Popen(command, env={**environment, "PYTHONPATH": str(folder)}, cwd=folder)
