"""One sandbox for all tests of this folder: the real one, as whoever runs the tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

from services.execution.sandbox.host.sandbox import WarmSandbox
from services.execution.sandbox.run import Outcome, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits


@pytest.fixture(scope="session")
def sandbox() -> Iterator[WarmSandbox]:
    with open_sandbox(SandboxSettings(slots=1)) as opened:
        yield opened


class RunCode(Protocol):
    def __call__(self, code: str, language: str = "python", **limits: float) -> Outcome: ...


@pytest.fixture
def run_code(sandbox: WarmSandbox) -> RunCode:
    """Run code and take the outcome; its files are gone afterwards."""

    def run(code: str, language: str = "python", **limits: float) -> Outcome:
        with sandbox.run(Run(language, code, limits=Limits.model_validate(limits))) as outcome:
            return outcome

    return run
