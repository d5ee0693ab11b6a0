"""An interrupt of the command is never lost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.assay.terminal import plain

_SWALLOWED = """
import os, signal, time
from assay import interrupts

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

interrupts.repeat()
try:
    Finalized()  # the first KeyboardInterrupt is raised in here, where Python ignores it
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_one_that_a_finalizer_swallows_is_raised_again() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SWALLOWED], env=plain(), capture_output=True, text=True, timeout=50, check=False
    )
    assert ran.stdout == "interrupted\n"
    assert "Exception ignored" in ran.stderr
