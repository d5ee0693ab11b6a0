"""Requests that are larger than a pipe: however slowly they come, reading one does not end its call."""

from __future__ import annotations

import time

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.supervise import Supervision
from services.execution.sandbox.run import Run
from shared.contracts.execute import Limits, Verdict
from shared.languages import LANGUAGES

_PIECES = 5  #: pipes full of a request: init checks the kernel that waits for the rest of it more than once
_SIZE = _PIECES << 16
_COMMENTS = {"python": "#", "r": "#", "javascript": "//", "sql": "--"}
_SUMS = {"python": "40 + 2", "r": "40 + 2", "javascript": "40 + 2", "sql": "select 40 + 2 as v"}
_LIMITS = Limits(wall_seconds=30, cpu_seconds=30)


@pytest.fixture(autouse=True)
def _slow_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel wait for each piece of its request, as on a machine that is busy."""
    write = Supervision._write

    def write_slowly(supervision: Supervision, descriptor: int, event: int) -> None:
        write(supervision, descriptor, event)
        if supervision._pending.get(descriptor):
            time.sleep(0.035)

    monkeypatch.setattr(Supervision, "_write", write_slowly)


def _code(language: str, more: int) -> str:
    """Return a sum behind ``more`` bytes of comments; languages read in sizes of their own, so tests try each."""
    line = f"{_COMMENTS[language]} {'x' * 96}\n"
    return f"{line * (_SIZE // len(line))}{_COMMENTS[language]}{'y' * more}\n{_SUMS[language]}"


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("language", LANGUAGES)
def test_code_of_many_pipes_runs_to_its_end(sandbox: Sandbox, language: str) -> None:
    for more in range(4):
        with sandbox.run(Run(language, _code(language, more), limits=_LIMITS)) as outcome:
            assert outcome.verdict is Verdict.OK, (more, outcome.error)
            assert outcome.value is not None
            assert "42" in outcome.value.text


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("language", LANGUAGES)
def test_values_and_code_of_many_pipes_reach_a_session(sandbox: Sandbox, language: str) -> None:
    with sandbox.session(language, _LIMITS, {}) as session:
        for more in range(8):  # the number of the call is part of what a kernel says of its end
            text = "a line, é 😀\n" * (_SIZE // 20) + "x" * more
            session.set("text", text)
            assert session.get("text").json == text, more
            outcome = session.execute(_code(language, more))
            assert outcome.verdict is Verdict.OK, (more, outcome.error)
            assert outcome.value is not None
            assert "42" in outcome.value.text
