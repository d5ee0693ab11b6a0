"""A kernel that lives on: what one call defines, the next one sees; values cross to another kernel."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import KernelError
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from tests.support.wait import until


def test_a_session_remembers_shows_and_survives_errors(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(), {}) as session:
        assert session.execute("x = 41\nprint('one')").stdout == "one\n"
        failed = session.execute("1 / 0")
        assert failed.verdict is Verdict.USER_ERROR
        again = session.execute("x += 1\ndisplay(x)\nx")
        assert again.value is not None
        assert again.value.text == "42"
        assert [shown.text for shown in again.displays] == ["42"]
        assert session.evaluate("x * 2").text == "84"
        assert session.info().language == "python"
        assert "numpy" in session.packages()


def test_variables_are_listed_got_set_and_removed(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(), {}) as session:
        session.execute("import math\ndef f(): pass\na = [1, 2.5, None]\n_hidden = 1")
        session.set("b", {"k": [True, "text"]})
        assert [variable.name for variable in session.list()] == ["a", "b"]
        assert session.get("a").json == [1, 2.5, None]
        assert session.evaluate("b['k'][1]").text == "'text'"
        session.remove("a")
        with pytest.raises(KernelError, match="'a' is not defined"):
            session.get("a")


def test_a_session_may_set_how_json_is_written(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(), {}) as session:
        session.execute("import json\njson.JSONEncoder.item_separator = ';'\njson.JSONEncoder.key_separator = '='")
        written = session.execute("print(json.JSONEncoder().encode({'a': [1, 2]}))")
        assert (written.verdict, written.stdout) == (Verdict.OK, '{"a"=[1;2]}\n')


@pytest.mark.slow
def test_each_call_is_told_what_it_used(sandbox: Sandbox) -> None:
    burn = "import time\nkept = bytearray(b'x' * 80_000_000)\nend = time.process_time() + 0.2\n"
    with sandbox.session("python", Limits(), {}) as session:
        first = session.execute(f"{burn}while time.process_time() < end: pass").usage
        second = session.execute("del kept").usage
    assert first.cpu_ms >= 190
    assert first.peak_memory_mb >= 70
    assert 0 < second.cpu_ms < first.cpu_ms


def test_a_table_crosses_from_python_to_sql_and_back(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(), {}) as python, sandbox.session("sql", Limits(), {}) as sql:
        python.execute("import pandas as pd\nframe = pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]})")
        sql.set("frame", python.get("frame"))
        outcome = sql.execute("CREATE TABLE sums AS SELECT k, sum(v) AS s FROM frame GROUP BY k; SELECT * FROM sums")
        assert outcome.value is not None
        assert outcome.value.shape == [2, 2]
        assert {variable.name for variable in sql.list()} == {"frame", "sums"}
        python.set("sums", sql.get("sums"))
        assert python.evaluate("dict(zip(sums.k, sums.s.astype(int)))").text == "{'a': 4, 'b': 2}"


@pytest.mark.slow
def test_too_long_a_call_is_interrupted_and_the_kernel_lives_on(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(wall_seconds=0.5), {}) as session:
        session.execute("kept = 1")
        assert session.execute("while True: pass").verdict is Verdict.TIMEOUT_WALL
        assert session.evaluate("kept").text == "1"


def test_interrupting_stops_the_call_only(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(), {}) as session:
        running = Event()

        def interrupt() -> None:
            running.wait(20)
            session.interrupt()

        Thread(target=interrupt).start()
        outcome = session.execute("print('on')\nwhile True: pass", lambda _stream, _text: running.set())
        assert outcome.error is not None
        assert outcome.error.type == "KeyboardInterrupt"
        assert session.evaluate("1 + 1").text == "2"


def test_a_kernel_that_hit_a_limit_is_gone_and_says_so(sandbox: Sandbox) -> None:
    with sandbox.session("python", Limits(memory_mb=100), {}) as session:
        assert session.execute("x = [bytearray(10**6) for _ in range(10**5)]").verdict is Verdict.MEMORY
        with pytest.raises(KernelError, match="open a new session"):
            session.evaluate("1")


@pytest.mark.slow(seconds=3)
def test_a_session_that_nobody_uses_is_ended() -> None:
    with (
        open_sandbox(SandboxSettings(slots=1, session_idle_seconds=1)) as sandbox,
        sandbox.session("python", Limits(), {}) as session,
    ):
        assert session.evaluate("1").text == "1"
        until(lambda: not session.alive, "the end of a session that nobody uses", 60)
        with pytest.raises(KernelError, match="open a new session"):
            session.evaluate("1")


@pytest.mark.slow(seconds=13)
def test_a_session_that_computes_on_between_two_calls_is_ended(sandbox: Sandbox) -> None:
    # One process after the other, so that the limit of none of them ends it.
    burning = """
import os, time
def burn():
    while True:
        end = time.process_time() + 0.3
        while time.process_time() < end: pass
        if os.fork(): os._exit(0)
if os.fork() == 0: burn()
"""
    with sandbox.session("python", Limits(cpu_seconds=1), {}) as session:
        assert session.execute(burning).verdict is Verdict.OK
        until(lambda: not session.alive, "the end of a session that computes while nobody asks", 60)


@pytest.mark.parametrize("lure", ["os.symlink('/tmp', 'sub')", "os.makedirs('real/sub'); os.symlink('real', 'sub')"])
def test_a_file_for_a_session_follows_no_link_of_its_code(sandbox: Sandbox, tmp_path: Path, lure: str) -> None:
    (tmp_path / "x").write_text("mine")
    with sandbox.session("python", Limits(), {}) as session:
        assert session.execute(f"import os\n{lure}").verdict is Verdict.OK
        with pytest.raises(KernelError):
            session.place({"sub/x.txt": tmp_path / "x"})


def test_a_file_for_a_session_goes_into_new_folders_and_replaces_what_is_there(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("new")
    with sandbox.session("python", Limits(), {}) as session:
        session.execute("import os\nos.mkdir('a')\nopen('a/old', 'w').write('old')\nos.symlink('old', 'a/link')")
        session.place({"a/link": tmp_path / "x", "a/./b/c": tmp_path / "x"})
        read = "[open(p).read() for p in ('a/link', 'a/b/c', 'a/old')]"
        assert session.evaluate(read).text == "['new', 'new', 'old']"


def test_a_session_reads_its_files(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    with sandbox.session("python", Limits(), {"sub/x.txt": tmp_path / "x"}) as session:
        assert session.evaluate("open('sub/x.txt').read()").text == "'hello'"
