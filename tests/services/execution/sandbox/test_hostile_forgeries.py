"""No program makes a verdict of its own: some 200 of those of ``forgeries``, all of them with ``FORGERIES=all``."""

from __future__ import annotations

import os
import time

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.conftest import RunCode
from tests.services.execution.sandbox.forgeries import LANGUAGES, judged, programs
from tests.services.execution.sandbox.forgery_traps import WAYS


@pytest.mark.slow(seconds=60)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_56_programs_that_forge_get_the_verdict_of_what_they_did(language: str, way: str, sandbox: Sandbox) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    row = list(programs(language, way))
    if os.environ.get("FORGERIES") != "all":
        row = row[WAYS.index(way) :: len(WAYS) * (4 if language == "r" else 1)]  # each is run in one of the ways
    assert [fault for program in row for fault in judged(program, sandbox)] == []


def test_56_there_are_enough_programs_that_forge() -> None:
    assert all(len(list(programs(language, way))) > 10 for language in LANGUAGES for way in WAYS)
    assert sum(len(list(programs(language, way))) for language in LANGUAGES for way in WAYS) >= 800


def test_56_a_forged_table_does_not_hide_the_error_after_it(sandbox: Sandbox) -> None:
    code = """
import sys, os, json, struct, pyarrow as pa
t = pa.table({"a": pa.array([666])})
with pa.OSFile("/out/evil.arrow", "wb") as f, pa.ipc.new_file(f, t.schema) as w: w.write(t)
n = None; f = sys._getframe()
while f:
    for v in list(f.f_locals.values()):
        if isinstance(getattr(v, "nonce", None), str): n = v.nonce
        answers = getattr(v, "_answers", None)
        if answers is not None: n = answers.nonce
    f = f.f_back
assert n
b = {"t": "result", "error": None, "class": "DataFrame", "rows": 1, "table": "evil.arrow", "nonce": n}
b = json.dumps(b).encode()
os.write(4, struct.pack(">I", len(b)) + b)
raise ValueError("the code failed")
"""
    with sandbox.run(Run("python", code, take="table", until="table")) as outcome:
        assert outcome.verdict is Verdict.REJECTED
        assert outcome.table is None
        assert outcome.error is not None
        assert "ValueError: the code failed" in outcome.error.message


@pytest.mark.parametrize("kind", ["result", "end", "other"])
@pytest.mark.parametrize("code", ["42", "throw new Error('real')"])
def test_56_the_honest_end_does_not_make_up_for_a_frame_read_together_with_it(
    sandbox: Sandbox, kind: str, code: str
) -> None:
    forged = f"""
process.stdout.write("x\\n");
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); // by now this side is busy with the output
const body = Buffer.from('{{"t":"{kind}","outcome":0,"seal":"0.0.0.0","nonce":"0"}}');
const head = Buffer.alloc(4);
head.writeUInt32BE(body.length);
require("fs").writeSync(4, Buffer.concat([head, body]));
"""
    run = Run("javascript", forged + code)
    with sandbox.run(run, on_output=lambda _stream, text: time.sleep(1.5 if text.startswith("x") else 0)) as outcome:
        assert outcome.verdict is Verdict.REJECTED


_EARLY = """
import json, os, struct, threading, time
def later():
    time.sleep(.2)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 4)
    body = json.dumps({"op": "info", "nonce": "0", "once": False, "mark": 0}).encode()
    os.write(os.open("/proc/self/fd/3", os.O_WRONLY), struct.pack(">I", len(body)) + body)
threading.Thread(target=later).start()
"""


def test_56_the_end_of_a_request_that_the_code_has_sent_is_not_the_end_of_the_next_call(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(wall_seconds=2), {}) as session:
        assert session.execute(_EARLY).verdict is Verdict.OK
        time.sleep(0.6)
        assert session.execute("raise ValueError('real')").verdict is not Verdict.OK


def test_code_can_trace_and_profile_itself_and_not_its_kernel(run_code: RunCode) -> None:
    outcome = run_code(
        "import sys\nseen = []\n"
        "def traced(frame, event, argument):\n    seen.append((frame.f_code.co_name, event))\n    return traced\n"
        "def profiled(frame, event, argument):\n    seen.append((frame.f_code.co_name, event))\n"
        "def f(): return 1\n"
        "sys.settrace(traced); f(); sys.settrace(None); sys.setprofile(profiled); f(); sys.setprofile(None)\n"
        "sorted(set(seen))"
    )
    assert outcome.value is not None
    assert "('f', 'line')" in outcome.value.text
    assert "('f', 'return')" in outcome.value.text
    left_on = run_code("import sys\nsys.settrace(lambda *a: print('seen', a[0].f_code.co_name))\n42")
    assert (left_on.verdict, left_on.stdout) == (Verdict.OK, "")


@pytest.mark.parametrize(
    "code", ["0 }); (async () => { await 1; throw new Error('real')", "await 1 })(); (async () => { 42"]
)
def test_code_that_awaits_is_a_program_by_itself(sandbox: Sandbox, code: str) -> None:
    with sandbox.run(Run("javascript", code)) as outcome:
        assert outcome.verdict is Verdict.USER_ERROR
        assert outcome.error is not None
        assert outcome.error.type == "SyntaxError"


@pytest.mark.parametrize("language", ["python", "r"])
def test_leaving_with_status_zero_is_not_the_end_of_a_call_of_a_session(sandbox: Sandbox, language: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    with sandbox.session(language, Limits(), {}) as session:
        outcome = session.execute({"python": "x = 1\nexit()", "r": "x <- 1\nquit()"}[language])
        assert outcome.verdict is Verdict.USER_ERROR
        assert outcome.error is not None
        assert (outcome.error.message, outcome.error.exit_code) == ("The code exited with status 0.", 0)
        assert session.value("x").json == 1  # the interpreter lives on


@pytest.mark.parametrize("language", ["python", "javascript", "r"])
def test_56_memory_at_the_very_end_of_a_call_is_not_fine(sandbox: Sandbox, language: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    code = {
        "python": "import numpy\nkept = numpy.ones(40_000_000)\n1",
        "javascript": "globalThis.kept = Buffer.alloc(320e6, 1); 1",
        "r": "kept <- numeric(4e7) + 1\n1",
    }[language]
    with sandbox.session(language, Limits(memory_mb=100, wall_seconds=20, cpu_seconds=20), {}) as session:
        assert session.execute("1").verdict is Verdict.OK
        assert session.execute(code).verdict in (Verdict.MEMORY, Verdict.USER_ERROR)


@pytest.mark.parametrize(
    ("code", "prints"),
    [
        (
            "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print('thread'))).start()",
            "thread",
        ),
        ("import atexit\natexit.register(print, 'last')", "last"),
    ],
)
def test_a_plain_run_waits_for_its_threads_and_exit_functions(run_code: RunCode, code: str, prints: str) -> None:
    outcome = run_code(f"{code}\n42")
    assert outcome.verdict is Verdict.OK
    assert outcome.stdout == f"{prints}\n"
    assert outcome.value is not None
    assert outcome.value.text == "42"
