"""Code that answers in place of its kernel: rejected, never fine, and not at the worker's expense."""

from __future__ import annotations

import subprocess
import sys

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import KernelError
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.attacks import (
    SPRAYING,
    SPRAYS,
)
from tests.services.execution.sandbox.conftest import RunCode
from tests.support.wait import until


@pytest.mark.slow
@pytest.mark.parametrize("spray", SPRAYS)
def test_56_code_that_speaks_for_its_kernel_is_rejected_and_never_fine(spray: str, run_code: RunCode) -> None:
    for last in ("1 / 0", "import sys; sys.exit(3)", "'fine'"):
        outcome = run_code(f"{SPRAYING}\nspray({SPRAYS[spray]})\n{last}", wall_seconds=60)
        assert outcome.verdict is Verdict.REJECTED, outcome
        assert outcome.value is None


def test_56_failures_are_failures_with_every_descriptor_closed_or_taken(run_code: RunCode) -> None:
    for first in ("os.closerange(3, 64)", "[os.dup2(1, n) for n in (3, 4)]", "os.dup2(os.open('/dev/null', 1), 4)"):
        outcome = run_code(f"import os\n{first}\n1 / 0")
        assert outcome.verdict in (Verdict.USER_ERROR, Verdict.REJECTED), outcome


def test_56_what_answers_far_too_much_is_ended_by_its_output(run_code: RunCode) -> None:
    large = 'framed(b\'{"t": "display", "media_type": "text/plain", "text": "\' + b\'x\' * 15_900_000 + b\'"}\')'
    outcome = run_code(f"{SPRAYING}\nspray({large} * 3)", memory_mb=1000, wall_seconds=60)
    assert outcome.verdict in (Verdict.OUTPUT, Verdict.REJECTED)
    outcome = run_code("for n in range(800): display.__self__.begin(); display('x' * 59_000)", wall_seconds=60)
    assert outcome.verdict is Verdict.OUTPUT


_HELD = """
import resource
from services.execution.sandbox.run import Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits
CODE = '''
import gc
answers = next(each for each in gc.get_objects() if type(each).__name__ == "Replies")
for _ in range(3): answers.send({"t": "display", "media_type": "text/plain", "text": "x", "more": MORE})
'''
limits = Limits(memory_mb=2000, wall_seconds=100, cpu_seconds=100)
with open_sandbox(SandboxSettings(slots=1)) as sandbox:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for more in ("[[]] * 3_900_000", "[0.5] * 3_000_000", "'x' * 15_000_000", "[{}] * 900_000"):
        with sandbox.run(Run("python", CODE.replace("MORE", more), limits=limits)) as outcome:
            print(outcome.verdict)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow(seconds=10)
def test_56_what_comes_back_does_not_inflate_the_worker() -> None:
    answer = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    *verdicts, megabytes = answer.stdout.split()
    assert verdicts == ["rejected", "output", "output", "ok"]
    assert int(megabytes) < 300


def test_56_a_session_whose_code_speaks_for_its_kernel_is_ended(sandbox: Sandbox) -> None:
    for spray in ("results without end", "an empty object", "random bytes"):
        with sandbox.session("python", Limits(wall_seconds=60), {}) as session:
            assert session.execute(SPRAYING).verdict is Verdict.OK
            assert session.execute(f"spray({SPRAYS[spray]})").verdict is Verdict.REJECTED
            with pytest.raises(KernelError, match="open a new session"):
                session.evaluate("1")


def test_56_a_session_hears_no_answer_before_it_asks(sandbox: Sandbox) -> None:
    code = (
        "import threading, time\n"
        "def later():\n    time.sleep(0.2); open('said', 'w').close(); spray(RESULT)\n"
        "threading.Thread(target=later, daemon=True).start()"
    ).replace("RESULT", SPRAYS["a result with a guessed nonce"])
    with sandbox.session("python", Limits(wall_seconds=60), {}) as session:
        session.execute(SPRAYING + code)
        with pytest.raises(KernelError, match=r"Rejected|open a new session"):
            until(lambda: session.evaluate("1") is None, "an answer that nobody asked for")


def test_56_what_a_thread_shows_between_calls_is_no_offence(sandbox: Sandbox) -> None:
    code = (
        "import threading, time\nover = threading.Event()\n"
        "def later():\n    for _ in range(20): time.sleep(0.01); display('late')\n    over.set()\n"
        "threading.Thread(target=later, daemon=True).start()"
    )
    with sandbox.session("python", Limits(wall_seconds=60), {}) as session:
        session.execute(code)
        until(lambda: session.evaluate("over.is_set()").text == "True", "the end of a thread", 50)
        assert session.evaluate("6 * 7").text == "42"
