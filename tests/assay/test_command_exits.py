"""The promised exit statuses, when the user interrupts, a process dies or the reader of the output has left."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.assay.terminal import DATA, Shell, written
from tests.support.wait import until


@pytest.mark.slow
def test_a_failed_job_exits_with_1(shell: Shell) -> None:
    code = written(shell, "code.py", "raise RuntimeError('mine')")
    ran = shell("transform", written(shell, "d.csv", DATA), "x", "--code", code)
    assert ran.status == 1
    assert "failed" in ran.talk
    job = shell("transform", "d.csv", "x", "--code", code, "--json")
    assert job.status == 1
    assert job.json["error"]["code"] == "user_code_failed"
    assert shell("jobs", "wait", job.json["id"]).status == 1


@pytest.mark.slow
def test_an_unverified_result_is_printed_and_exits_with_7(shell: Shell) -> None:
    ran = shell("transform", written(shell, "d.csv", DATA), "invent some", "-o", "out.csv", "--format", "csv")
    assert ran.status == 7
    assert "Utopia" in ran.out
    assert "unverified: The code assigns to data before it reads the data set data." in ran.talk
    assert (shell.folder / "out.csv").exists()
    job = shell("transform", "d.csv", "invent some", "--json")
    assert job.status == 7
    assert job.json["result"]["status"] == "unverified"
    assert [reason["code"] for reason in job.json["result"]["unverified_because"]] == ["input_overwritten"]
    assert shell("jobs", "wait", job.json["id"]).status == 7
    listed = {item["id"]: item for item in shell("jobs", "ls", "--json").json["items"]}
    assert listed[job.json["id"]]["verdict"] == "unverified"


@pytest.mark.slow
def test_a_timeout_exits_with_124_and_the_job_goes_on(shell: Shell) -> None:
    program = written(shell, "slow.py", "import time\ntime.sleep(60)")
    ran = shell("execute", program, "--timeout", "1", "--wall-seconds", "90")
    assert ran.status == 124
    assert "assay jobs wait" in ran.talk
    id = ran.talk.split()[-1]
    assert shell("jobs", "get", id, "--json").json["state"] in ("queued", "running")
    cancelled = shell("jobs", "cancel", id)
    assert cancelled.status == 0
    until(lambda: shell("jobs", "get", id, "--json").json["state"] == "cancelled", "the job is cancelled", 30)
    assert shell("jobs", "wait", id).status == 1
    assert shell("jobs", "cancel", id).status == 1


@pytest.mark.slow
def test_an_interrupt_exits_with_130(shell: Shell) -> None:
    process = shell.start("execute", written(shell, "slow.py", "import time\ntime.sleep(60)"), "--wall-seconds", "90")
    assert process.stderr is not None
    assert process.stdout is not None
    id = process.stderr.readline().split()[-1]
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "continues" in talk
    shell("jobs", "cancel", id)


@pytest.mark.slow
def test_nobody_there_to_do_it_exits_with_5(shell: Shell) -> None:
    assert shell("collection", "create", "c", "--tables", written(shell, "t.json", '{"t": {}}')).status == 0
    ran = shell("search", "c", "anything")
    assert ran.status == 5
    assert "no live worker" in ran.talk


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"], ["jobs", "get"], ["execute", "no-such-file.py"], ["execute", "p.py", "--language", "cobol"],
        ["--url"], ["jobs", "ls", "--limit", "many"], ["execute", "p.py", "--label", "nonsense"],
        ["models", "set", "r", "x"],
        ["transform", "d.csv"], ["jobs", "get", ""],
    ],
)  # fmt: skip
def test_a_slip_exits_with_2(shell: Shell, words: list[str]) -> None:
    written(shell, "p.py", "1")
    ran = shell(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.talk


@pytest.mark.slow
def test_a_program_that_is_no_text_is_a_slip(shell: Shell) -> None:
    (shell.folder / "binary.py").write_bytes(b"\xff\xfe")
    for file, said in (("binary.py", "not text"), (".", "a folder")):
        ran = shell("execute", file)
        assert (ran.status, said in ran.talk) == (2, True), ran.talk


@pytest.mark.slow
def test_not_found_not_authorised_and_unreachable_are_told_apart(shell: Shell) -> None:
    assert shell("jobs", "get", "no-such-job").status == 3
    assert shell("jobs", "ls", "--api-key", "ask_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").status == 4  # not a secret
    away = shell("jobs", "ls", "--url", "http://127.0.0.1:9")
    assert (away.status, "`assay up`" in away.talk) == (5, True)
    assert shell("jobs", "ls", ASSAY_URL="http://127.0.0.1:9").status == 5


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(shell: Shell) -> None:
    words = " ".join(Shell.command(["jobs", "ls", "--json"]))
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} | true"], cwd=shell.folder, env=dict(shell.env),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_a_killed_worker_comes_back_and_the_command_does_not_notice(shell: Shell) -> None:
    process = shell.start("execute", written(shell, "nap.py", "import time\ntime.sleep(1)\nprint('done')"), "--json")
    assert process.stderr is not None
    process.stderr.readline()
    services = shell("status", "-o", "json").json["services"]
    os.kill(next(each["pid"] for each in services if each["name"] == "execution-1"), signal.SIGKILL)
    out, _ = process.communicate(timeout=90)
    assert json.loads(out)["result"]["stdout"] == "done\n"
    until(lambda: shell("status").status == 0, "everything runs again")
