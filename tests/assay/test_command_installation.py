"""The installation on this machine: found from any folder, and honest about what it lacks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.assay.terminal import Shell
from tests.support.wait import until


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_an_installation_is_found_from_any_folder(shell: Shell, tmp_path: Path) -> None:
    elsewhere = Shell(tmp_path, {name: value for name, value in shell.env.items() if name != "ASSAY_HOME"})
    assert json.loads(elsewhere("jobs", "ls", "--json").out)["items"] is not None
    url = json.loads(shell("status", "-o", "json").out)["url"]
    assert url in elsewhere("status").out


def test_the_environment_of_status_is_exported(shell: Shell) -> None:
    lines = shell("status", "-o", "env").out.splitlines()
    assert [line.partition("=")[0] for line in lines] == ["export ASSAY_URL", "export ASSAY_API_KEY"]


def test_status_and_doctor_name_a_frozen_redis(shell: Shell) -> None:
    status = json.loads(shell("status", "-o", "json").out)
    assert status["ready"]
    pid = next(service["pid"] for service in status["services"] if service["name"] == "redis")
    with frozen(pid):
        told = until(lambda: ran if (ran := shell("status")).status == 5 else None, "status tells", 30)
        assert "redis            degraded    Redis does not answer" in told.out
        doctor = shell("doctor")
        assert doctor.status == 1
        assert "FAIL redis" in doctor.out
    until(lambda: shell("status").status == 0, "it is ready again", 30)
