"""What a program does, and the verdict that it gets."""

from __future__ import annotations

import textwrap
from pathlib import Path
from threading import Event, Thread

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from shared.contracts.execute import Limits, Verdict
from shared.errors import JobCancelled
from tests.services.execution.sandbox.conftest import RunCode


def test_the_last_expression_is_the_value(run_code: RunCode) -> None:
    outcome = run_code("x = 20\nprint('seen')\nx * 2 + 2")
    assert outcome.verdict is Verdict.OK
    assert outcome.stdout == "seen\n"
    assert outcome.value is not None
    assert (outcome.value.type, outcome.value.text) == ("int", "42")


@pytest.mark.parametrize("error", ["ValueError", "SystemExit", "GeneratorExit"])
def test_a_value_that_raises_when_it_is_shown_is_shown_by_its_type(run_code: RunCode, error: str) -> None:
    outcome = run_code(f"class A:\n    def __repr__(self): raise {error}(0)\nA()")
    assert outcome.verdict is Verdict.OK
    assert outcome.value is not None
    assert outcome.value.text == f"<A: its repr raised {error}>"


def test_statements_have_no_value(run_code: RunCode) -> None:
    assert run_code("x = 1").value is None


def test_an_error_comes_with_the_traceback_of_the_code_only(run_code: RunCode) -> None:
    outcome = run_code("def f():\n    return 1 / 0\nf()")
    assert outcome.verdict is Verdict.USER_ERROR
    assert outcome.error is not None
    assert outcome.error.type == "ZeroDivisionError"
    assert "return 1 / 0" in outcome.error.traceback
    assert "guest" not in outcome.error.traceback


@pytest.mark.parametrize("code", ["import sys; sys.exit(0)", "raise SystemExit", "exit()"])
def test_leaving_with_status_zero_is_ok(run_code: RunCode, code: str) -> None:
    outcome = run_code(code)
    assert (outcome.verdict, outcome.error) == (Verdict.OK, None)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import os; os._exit(7)", 7),
        ("import sys; sys.exit('no')", 1),
        ("import os; os._exit(0)", 0),  # it ended before it came to its own end: no result is never fine
    ],
)
def test_leaving_with_another_status_or_before_the_end_is_a_user_error(
    run_code: RunCode, code: str, status: int
) -> None:
    outcome = run_code(code)
    assert outcome.verdict is Verdict.USER_ERROR
    assert outcome.error is not None
    assert outcome.error.exit_code == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("while True: pass", Verdict.TIMEOUT_CPU),
        ("x = bytearray(10**11)", Verdict.MEMORY),
        ("x = [bytearray(10**6) for _ in range(10**6)]", Verdict.MEMORY),
        ("import numpy as np; x = np.ones(10**9)", Verdict.MEMORY),
        ("import os; os.kill(os.getpid(), 11)", Verdict.SIGNAL),
        ("import os; os.kill(os.getpid(), 9)", Verdict.SIGNAL),
        ("import os; os.abort()", Verdict.SIGNAL),
        ("open('big', 'wb').write(bytes(40_000_000))", Verdict.DISK),
        (
            "import threading, time\n"
            "for _ in range(500): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
            Verdict.PROCESSES,
        ),
        ("while True: print('x' * 10**6)", Verdict.OUTPUT),
        ("(", Verdict.USER_ERROR),
    ],
)
def test_each_limit_has_its_verdict(run_code: RunCode, code: str, verdict: Verdict) -> None:
    outcome = run_code(
        code,
        wall_seconds=60,
        cpu_seconds=1 if verdict is Verdict.TIMEOUT_CPU else 60,
        memory_mb=200,
        disk_mb=20,
        processes=20,
        output_bytes=100_000,
    )
    assert outcome.verdict is verdict
    assert outcome.error is not None


@pytest.mark.slow(seconds=1.5)
def test_a_fork_bomb_ends_within_its_limits(run_code: RunCode) -> None:
    outcome = run_code("import os\nwhile True: os.fork()", wall_seconds=3, processes=20)
    assert outcome.verdict in (Verdict.PROCESSES, Verdict.TIMEOUT_WALL, Verdict.TIMEOUT_CPU)


def test_a_memory_error_that_the_code_survives_is_its_own_affair(run_code: RunCode) -> None:
    outcome = run_code("try: bytearray(10**12)\nexcept MemoryError: print('caught')")
    assert (outcome.verdict, outcome.stdout) == (Verdict.OK, "caught\n")


@pytest.mark.slow(seconds=1)
def test_output_is_cut_in_the_middle_and_the_program_goes_on(run_code: RunCode) -> None:
    outcome = run_code("for n in range(100_000): print(n)\n'end'", output_bytes=10_000)
    assert outcome.verdict is Verdict.OK
    assert outcome.truncated
    assert outcome.stdout.startswith("0\n1\n2\n")
    assert outcome.stdout.endswith("99998\n99999\n")
    assert len(outcome.stdout.encode()) <= 10_000


def test_what_is_not_text_is_escaped(run_code: RunCode) -> None:
    outcome = run_code(r"import sys; sys.stdout.buffer.write(b'\xff\x00\x1b[31mred\xc3\xa9'); sys.stdout.flush()")
    assert outcome.stdout == r"\xff\x00\x1b[31mredé"


def test_one_byte_of_output_is_a_limit_like_any_other(run_code: RunCode) -> None:
    outcome = run_code("print('x' * 50)", output_bytes=1)
    assert (outcome.verdict, outcome.truncated, outcome.stdout) == (Verdict.OK, True, "")


def test_a_real_time_signal_has_a_name_too(run_code: RunCode) -> None:
    outcome = run_code("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 6)")
    assert outcome.verdict is Verdict.SIGNAL
    assert outcome.error is not None
    assert outcome.error.type == "SIGRTMIN+6"


def test_an_error_that_is_no_text_is_escaped(run_code: RunCode) -> None:
    outcome = run_code("raise ValueError('\\udc80\\0\\x1b[31m')")
    assert outcome.error is not None
    assert outcome.error.message == r"\udc80\x00\x1b[31m"
    assert outcome.error.traceback.endswith("ValueError: " + outcome.error.message + "\n")


@pytest.mark.parametrize("code", ["def f(:", "  x = 1", "import os; os.kill(os.getpid(), 2)"])
def test_nothing_of_ours_is_in_a_traceback(run_code: RunCode, code: str) -> None:
    outcome = run_code(code)
    assert outcome.verdict is Verdict.USER_ERROR
    assert outcome.error is not None
    assert "main.py" in outcome.error.traceback
    assert "/runtime/" not in outcome.error.traceback + outcome.stderr


@pytest.mark.parametrize(
    ("last", "verdict"), [("5", Verdict.OK), ("1 / 0", Verdict.USER_ERROR), ("exit(3)", Verdict.USER_ERROR)]
)
def test_closing_every_descriptor_is_the_codes_right(run_code: RunCode, last: str, verdict: Verdict) -> None:
    assert run_code(f"import os; os.closerange(3, 100)\n{last}").verdict is verdict


@pytest.mark.parametrize("language", ["python", "sql", "javascript", "r"])
def test_a_byte_order_mark_is_no_code(sandbox: Sandbox, run_code: RunCode, language: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    code = "\ufeffSELECT 42" if language == "sql" else "\ufeff40 + 2"
    value = run_code(code, language).value
    assert value is not None
    assert "42" in value.text


@pytest.mark.slow(seconds=1)
def test_displays_that_are_left_out_are_named(run_code: RunCode) -> None:
    outcome = run_code("for n in range(60): display(n)")
    assert len(outcome.displays) == 50
    assert outcome.refused == ("some displays: a run may show 50",)
    outcome = run_code("display('x' * 51_000_000)")
    assert outcome.displays == ()
    assert outcome.refused == ("a display of text/plain: displays may be 50 MB in all",)


def test_cancelling_ends_the_program_at_once(sandbox: Sandbox) -> None:
    cancelled, seen = Event(), Event()

    def cancel() -> None:
        seen.wait(20)
        cancelled.set()

    Thread(target=cancel).start()
    run = Run("python", "print('on')\nwhile True: pass", limits=Limits(wall_seconds=60, cpu_seconds=60))
    with pytest.raises(JobCancelled), sandbox.run(run, cancelled, lambda _stream, _text: seen.set()):
        pass


def test_files_go_in_and_new_or_changed_ones_come_out(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a,b\n1,2\n")
    code = textwrap.dedent("""
        import os, pandas as pd
        frame = pd.read_csv('data/a.csv')
        os.makedirs('out')
        open('out/new.txt', 'w').write('new')
        open('data/b.csv', 'a').write('more')
        open('.hidden', 'w').write('x')
        os.symlink('/etc/passwd', 'link')
        int(frame.b.sum())
    """)
    run = Run("python", code, files={"data/a.csv": tmp_path / "a", "data/b.csv": tmp_path / "a"})
    with sandbox.run(run) as outcome:
        assert outcome.value is not None
        assert outcome.value.text == "2"
        contents = {product.path: product.content.read_text() for product in outcome.artifacts}
        kept = [product.content for product in outcome.artifacts]
    assert contents == {"out/new.txt": "new", "data/b.csv": "a,b\n1,2\nmore"}
    assert sorted(refused.split(":")[0] for refused in outcome.refused) == [".hidden", "link"]
    assert not any(path.exists() for path in kept)


@pytest.mark.parametrize("name", ["shared", "helpers", "reading", "tables"])
def test_code_imports_a_module_of_its_own_whatever_its_name(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    (tmp_path / "module").write_text("ANSWER = 42\n")
    run = Run("python", f"import {name}\n{name}.ANSWER", files={f"{name}.py": tmp_path / "module"})
    with sandbox.run(run) as outcome:
        assert outcome.value is not None, outcome.stderr
        assert outcome.value.text == "42"


def test_standard_input_is_read_to_its_end(sandbox: Sandbox) -> None:
    with sandbox.run(Run("python", "import sys; len(sys.stdin.read())", stdin=b"x" * 300_000)) as outcome:
        assert outcome.value is not None
        assert outcome.value.text == "300000"


@pytest.mark.slow(seconds=1.5)
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import random, numpy\n(random.random(), float(numpy.random.rand()), hash('text'))"),
        ("sql", "SELECT random()"),
    ],
)
def test_a_seed_makes_two_runs_draw_alike_and_no_seed_does_not(sandbox: Sandbox, language: str, code: str) -> None:
    def draw(seed: int | None) -> str:
        with sandbox.run(Run(language, code, seed=seed)) as outcome:
            assert outcome.value is not None
            return outcome.value.text

    assert draw(7) == draw(7)
    assert draw(None) != draw(None)
