"""What a program prints is shown while it runs, once, and whole."""

from __future__ import annotations

from typing import Any

import pytest

from assay.commands.program_output import Printed
from assay.events import JobEvent
from tests.assay.terminal import Shell, written


def event(type: str, **data: Any) -> JobEvent:
    return JobEvent(type, "j", 1, "", data)


def out(text: str) -> JobEvent:
    return event("output", stream="stdout", text=text)


def test_pieces_come_as_they_are_and_the_result_adds_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed()
    assert not printed.take(event("job_started"))
    assert printed.take(out("on"))
    assert printed.take(event("output", stream="stderr", text="oh\n"))
    assert printed.take(out("e\ntwo"))
    assert capsys.readouterr() == ("one\ntwo", "oh\n")
    printed.finish({"stdout": "one\ntwo\nthree", "stderr": "oh\n"})
    assert capsys.readouterr() == ("\nthree\n", "")


def test_what_was_cut_in_the_middle_is_told_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed()
    printed.take(out("a\nb\nc\nd\n"))
    printed.finish({"stdout": "a\nb\n... cut: 99 bytes in all ...\nz\n", "stderr": ""})
    assert capsys.readouterr().out == "a\nb\nc\nd\n... cut: 99 bytes in all ...\nz\n"


def test_a_job_that_is_run_again_shows_its_output_once(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed()
    printed.take(event("job_started"))
    printed.take(out("1\n2\n"))
    printed.take(event("job_started"))
    for text in ("1\n", "2\n", "3\n"):
        printed.take(out(text))
    printed.finish({"stdout": "1\n2\n3\n", "stderr": ""})
    assert capsys.readouterr().out == "1\n2\n3\n"


def test_another_run_that_prints_something_else_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed()
    printed.take(out("seed 1\n"))
    printed.take(event("job_started"))
    printed.take(out("seed 2\n"))
    printed.take(out("done\n"))
    printed.finish({"stdout": "seed 2\ndone\n", "stderr": ""})
    assert capsys.readouterr().out == "seed 1\nseed 2\ndone\n"


@pytest.mark.slow
def test_execute_prints_while_the_program_runs(shell: Shell) -> None:
    program = "import sys, time\nprint('first', flush=True)\ntime.sleep(100)\nprint('never')\n"
    running = shell.start("execute", written(shell, "slow.py", program), "--wall-seconds", "120")
    assert running.stdout is not None
    assert running.stdout.readline() == "first\n"
    assert running.poll() is None
    assert shell("jobs", "cancel", "@last").status == 0
    rest, _ = running.communicate(timeout=120)
    assert "never" not in rest
    assert running.returncode != 0


@pytest.mark.slow
def test_execute_prints_each_stream_once(shell: Shell) -> None:
    program = "import sys\nprint('é' * 20000)\nprint('late', file=sys.stderr)\nprint('end', end='')\n"
    ran = shell("execute", written(shell, "both.py", program), "--quiet")
    assert ran.out == "é" * 20000 + "\nend\n"
    assert ran.talk.count("late") == 1
