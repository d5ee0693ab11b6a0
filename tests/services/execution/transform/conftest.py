"""A lab for each test, on one real sandbox for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.execution.sandbox.host.sandbox import WarmSandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from tests.services.execution.transform.support import Folder, Lab


@pytest.fixture(scope="session")
def sandbox() -> Iterator[WarmSandbox]:
    with open_sandbox(SandboxSettings(slots=2)) as opened:
        yield opened


@pytest.fixture
def lab(tmp_path: Path, sandbox: WarmSandbox) -> Lab:
    folder = tmp_path / "files"
    folder.mkdir()
    return Lab(Folder(folder), sandbox)
