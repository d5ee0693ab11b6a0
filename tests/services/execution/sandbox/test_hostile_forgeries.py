"""No program makes a verdict of its own: some 200 of those of ``forgeries``, all of them with ``FORGERIES=all``."""

from __future__ import annotations

import os
import time

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.conftest import RunCode
from tests.services.execution.sandbox.forgeries import LANGUAGES, WAYS, judged, programs


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
