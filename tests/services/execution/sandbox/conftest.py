"""Running code in the sandbox of the tests."""

from __future__ import annotations

from typing import Protocol

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Outcome, Run
from shared.contracts.execute import Limits


class RunCode(Protocol):
    def __call__(self, code: str, language: str = "python", **limits: float) -> Outcome: ...


@pytest.fixture
def run_code(sandbox: Sandbox) -> RunCode:
    """Run code and take the outcome; its files are gone afterwards."""

    def run(code: str, language: str = "python", **limits: float) -> Outcome:
        with sandbox.run(Run(language, code, limits=Limits.model_validate(limits))) as outcome:
            return outcome

    return run
