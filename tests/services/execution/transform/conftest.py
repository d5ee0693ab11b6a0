"""A lab for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.execution.transform.support import ChildSandbox, Folder, Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = tmp_path / "files"
    folder.mkdir()
    return Lab(Folder(folder), ChildSandbox())
