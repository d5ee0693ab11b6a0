"""A process whose settings do not fit says which and ends with a status of its own, however it is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.host.processes import PROCESSES, Process
from shared.settings import WRONG_SETTINGS
from tests.support import forks

_ROOT = Path(__file__).resolve().parents[2]
#: What most of the processes import.
_IMPORTS = ("shared.jobs.worker", "shared.jobs.record.queries", "celery.bin.worker", "kombu.transport.redis")


def _ended(process: Process, **env: str) -> forks.Ran:
    return forks.run(process.module, [], {"PATH": os.environ["PATH"], **env}, _ROOT, imports=_IMPORTS)


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_process_without_settings_names_each_in_one_line(process: Process) -> None:
    ended = _ended(process)
    assert ended.status == WRONG_SETTINGS
    (line,) = ended.talk.splitlines()
    for variable in ("DATABASE_URL", "REDIS_URL", "BLOB_URL"):
        assert f"{variable} has to be set (" in line
    assert "docs/settings.md" in line


def test_a_setting_that_does_not_fit_is_named_without_its_value() -> None:
    stores = {"DATABASE_URL": "postgresql://127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1", "BLOB_URL": "file:///x"}
    ended = _ended(PROCESSES[-1], **stores, ASSAY_LEASE_SECONDS="a-secret")
    assert ended.status == WRONG_SETTINGS
    (line,) = ended.talk.splitlines()
    assert "ASSAY_LEASE_SECONDS: " in line
    assert "a-secret" not in line
