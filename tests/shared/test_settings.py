"""A process whose settings do not fit says which and ends with a status of its own, however it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.host.processes import PROCESSES, Process
from shared.settings import WRONG_SETTINGS

_ROOT = Path(__file__).resolve().parents[2]


def _ended(process: Process, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", process.module]
    given = {"PATH": os.environ["PATH"], **env}
    return subprocess.run(command, cwd=_ROOT, env=given, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_process_without_settings_names_each_in_one_line(process: Process) -> None:
    ended = _ended(process)
    assert ended.returncode == WRONG_SETTINGS
    (line,) = ended.stderr.splitlines()
    for variable in ("DATABASE_URL", "REDIS_URL", "BLOB_URL"):
        assert f"{variable} has to be set (" in line
    assert "docs/settings.md" in line


def test_a_setting_that_does_not_fit_is_named_without_its_value() -> None:
    stores = {"DATABASE_URL": "postgresql://127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1", "BLOB_URL": "file:///x"}
    ended = _ended(PROCESSES[-1], **stores, ASSAY_LEASE_SECONDS="a-secret")
    assert ended.returncode == WRONG_SETTINGS
    (line,) = ended.stderr.splitlines()
    assert "ASSAY_LEASE_SECONDS: " in line
    assert "a-secret" not in line
