"""The memory that a run is said to have used: what it added at its peak, however short it was."""

from __future__ import annotations

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from shared.contracts.execute import Verdict
from tests.services.execution.sandbox.conftest import RunCode


@pytest.mark.parametrize(
    ("language", "code"),
    [("python", "print(1)"), ("javascript", "console.log(1)"), ("r", "print(1)"), ("sql", "SELECT 1")],
)
def test_a_short_run_used_something(sandbox: Sandbox, run_code: RunCode, language: str, code: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip(f"{language} is not installed")
    usage = run_code(code, language).usage
    assert 0 < usage.peak_memory_mb < 60


def test_memory_that_was_there_for_a_moment_counts(sandbox: Sandbox) -> None:
    code = "import time\nx = bytearray(b'x') * (100 << 20)\ntime.sleep(0.005)\ndel x"
    with sandbox.run(Run("python", code)) as outcome:
        assert outcome.verdict is Verdict.OK
        assert 100 <= outcome.usage.peak_memory_mb < 160


def test_pages_shared_with_the_warm_interpreter_do_not_count(run_code: RunCode) -> None:
    usage = run_code("import pandas\nlen(pandas.DataFrame({'a': [1]}))").usage
    assert usage.peak_memory_mb < 60
