"""Tests that need R or Node skip where it is not installed, and say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pytest


class _Languages(Protocol):
    def languages(self) -> Mapping[str, str | None]: ...


def skip_unless_installed(sandbox: _Languages, *languages: str) -> None:
    """End the test as skipped when the sandbox cannot run one of the languages."""
    installed = sandbox.languages()
    missing = [language for language in dict.fromkeys(languages) if installed.get(language) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed here; scripts/install-optional installs it")
