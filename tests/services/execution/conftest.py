"""One sandbox for all tests of the execution service: the real one, as the user who runs the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(SandboxSettings(slots=1)) as opened:
        yield opened
