"""What a pytest began ends with it, however pytest ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.keeper import Process, processes_of
from tests.support.platform import ROOT
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=10), pytest.mark.chaos, pytest.mark.timeout(600)]
_SERVERS_AND_PROCESSES = {"postgres", "redis-server", "worker_process"}
_INSTALLATION = {"gateway", "execution", "reconciler"}


@pytest.mark.parametrize(
    ("whom", "how", "held", "started"),
    [
        ("pytest", signal.SIGTERM, "test_servers_and_processes", _SERVERS_AND_PROCESSES),
        (
            "pytest",
            signal.SIGKILL,
            "test_servers_processes_and_an_installation",
            _SERVERS_AND_PROCESSES | _INSTALLATION,
        ),
        ("its worker", signal.SIGKILL, "test_servers_and_processes", _SERVERS_AND_PROCESSES),
    ],
    ids=["terminated", "killed", "worker killed"],
)
def test_nothing_outlives_a_pytest_that_is_killed(
    tmp_path: Path, whom: str, how: signal.Signals, held: str, started: set[str]
) -> None:
    holding, mark = tmp_path / "holding", f"HOLDING={tmp_path}"
    options = ["-q", "-n", "1", "--max-worker-restart", "0", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    command = [sys.executable, "-m", "pytest", *options, f"tests/support/holding.py::{held}"]
    with (tmp_path / "output").open("wb") as output:
        pytest_ = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "HOLDING": str(holding)}, stdout=output, stderr=output
        )
    until(lambda: holding.exists() or pytest_.poll() is not None, "what that pytest holds", 300)
    assert pytest_.poll() is None, (tmp_path / "output").read_text()
    marks = [Path(mark), Path(holding.read_text())]  # the run's Postgres has only its folder
    begun = _processes_of(marks)
    missing = started - {process.name for process in begun}
    assert not missing, sorted(process.name for process in begun)
    os.kill(pytest_.pid if whom == "pytest" else _worker_of(pytest_.pid), how)
    pytest_.wait(200)

    def left() -> list[Process]:
        return [process for process in begun | _processes_of(marks) if process.runs()]

    until(lambda: not left(), f"the end of {begun}", 60)


def _processes_of(marks: Iterable[Path]) -> set[Process]:
    return set[Process]().union(*map(processes_of, marks))


def _worker_of(pid: int) -> int:
    """The process in which that pytest runs its tests."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    [worker] = [int(child) for child in children if b"stdin.readline" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return worker
