"""A lab for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.execution.sandbox.host.sandbox import WarmSandbox
from tests.services.execution.transform.support import Folder, Lab


@pytest.fixture
def lab(tmp_path: Path, sandbox: WarmSandbox) -> Lab:
    folder = tmp_path / "files"
    folder.mkdir()
    return Lab(Folder(folder), sandbox)
