"""After many runs of every kind, and after closing, nothing is left on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.execution.sandbox.run import Run
from services.execution.sandbox.sandbox import open_sandbox
from services.execution.sandbox.settings import SandboxSettings
from shared.errors import SandboxUnavailable
from tests.services.execution.sandbox.leftovers import children_of


def test_closing_leaves_no_process_mount_group_file_or_descriptor(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.services.execution.sandbox.leftovers", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {}


def test_a_box_that_dies_is_replaced() -> None:
    before = children_of(os.getpid())
    with open_sandbox(SandboxSettings(slots=1)) as sandbox:
        for child in children_of(os.getpid()) - before:
            if "bwrap" in Path(f"/proc/{child}/comm").read_text():
                os.kill(child, 9)
        with sandbox.run(Run("python", "1 + 1")) as outcome:
            assert outcome.value is not None
            assert outcome.value.text == "2"


def test_a_tier_below_the_minimum_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="microvm is required"):
        open_sandbox(SandboxSettings(min_tier="microvm"))
