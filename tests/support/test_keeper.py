"""What a pytest began ends with it, however pytest ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.keeper import Process, processes_of
from tests.support.platform import ROOT
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.chaos, pytest.mark.timeout(600)]
_STARTED = {"postgres", "redis-server", "gateway", "execution", "reconciler", "worker_process"}


@pytest.mark.parametrize(
    ("whom", "how"),
    [("pytest", signal.SIGTERM), ("pytest", signal.SIGKILL), ("its worker", signal.SIGKILL)],
    ids=["terminated", "killed", "worker killed"],
)
def test_nothing_outlives_a_pytest_that_is_killed(tmp_path: Path, whom: str, how: signal.Signals) -> None:
    holding, mark = tmp_path / "holding", f"HOLDING={tmp_path}"
    options = ["-q", "-n", "1", "--max-worker-restart", "0", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    command = [sys.executable, "-m", "pytest", *options, "tests/support/holding.py"]
    with (tmp_path / "output").open("wb") as output:
        pytest_ = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "HOLDING": str(holding)}, stdout=output, stderr=output
        )
    until(lambda: holding.exists() or pytest_.poll() is not None, "the installation of that pytest", 300)
    assert pytest_.poll() is None, (tmp_path / "output").read_text()
    begun = processes_of(Path(mark))
    missing = _STARTED - {process.name for process in begun}
    assert not missing, sorted(process.name for process in begun)
    os.kill(pytest_.pid if whom == "pytest" else _worker_of(pytest_.pid), how)
    pytest_.wait(200)

    def left() -> list[Process]:
        return [process for process in begun | processes_of(Path(mark)) if process.runs()]

    until(lambda: not left(), f"the end of {begun}", 60)


def _worker_of(pid: int) -> int:
    """The process in which that pytest runs its tests."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    [worker] = [int(child) for child in children if b"stdin.readline" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return worker
