"""The command runs programs and tasks: data on stdout, talk on stderr."""

from __future__ import annotations

import json

import pytest

from tests.assay.terminal import DATA, Shell, written


@pytest.mark.slow
def test_a_program_prints_what_it_prints(shell: Shell) -> None:
    program = written(shell, "p.py", "import sys\nprint('hello')\nprint('oops', file=sys.stderr)\n6 * 7\n")
    ran = shell("execute", program)
    assert (ran.status, ran.out) == (0, "hello\n42\n")
    assert "oops" in ran.talk
    assert shell("execute", "-", "--quiet", stdin="print(1)").out == "1\n"


@pytest.mark.slow
def test_json_is_the_job_and_nothing_else(shell: Shell) -> None:
    job = shell("execute", written(shell, "p.py", "print('x')"), "--json").json
    assert (job["state"], job["result"]["verdict"], job["result"]["stdout"]) == ("succeeded", "ok", "x\n")
    assert shell("jobs", "get", job["id"], "--json").json["id"] == job["id"]


@pytest.mark.slow
def test_all_jobs_are_followed_as_they_end(shell: Shell) -> None:
    after = shell("api", "GET", "/v1/events").json["next_after"]
    job = shell("execute", written(shell, "p.py", "print('x')"), "--json").json
    changed = shell("api", "GET", f"/v1/events?after={after}").json["items"]
    told = shell("jobs", "tail", "--after", str(after), "--count", str(len(changed))).out.splitlines()
    assert [job["id"], "succeeded", "execute"] in [line.split()[:3] for line in told]


@pytest.mark.slow
def test_a_failing_program_is_a_verdict(shell: Shell) -> None:
    program = written(shell, "bad.py", "raise ValueError('broken')")
    ran = shell("execute", program)
    assert ran.status == 0
    assert ran.talk.count("ValueError: broken") == 1
    assert "verdict: user_error" in ran.talk
    assert shell("execute", program, "--check").status == 1


@pytest.mark.slow
def test_files_go_in_and_artifacts_come_out(shell: Shell) -> None:
    written(shell, "numbers.txt", "1\n2\n3\n")
    program = written(shell, "sum.py", "n = sum(map(int, open('in/n.txt')))\nopen('sum.txt', 'w').write(str(n))\n")
    ran = shell("execute", program, "--attach", "numbers.txt=in/n.txt", "--save", "made")
    assert ran.status == 0, ran.talk
    assert (shell.folder / "made" / "sum.txt").read_text() == "6"


@pytest.mark.slow
def test_a_transform_shows_its_turns_and_prints_the_table(shell: Shell) -> None:
    task = "sum n by city, mistake first"
    ran = shell("transform", written(shell, "d.csv", DATA), task, "-o", "out.parquet", "--code-out", "made.py")
    assert ran.status == 0, ran.talk
    assert ran.out == ""
    assert "turn 1: error" in ran.talk
    assert "turn 2: result" in ran.talk
    assert "scripted" in ran.talk
    assert (shell.folder / "out.parquet").read_bytes()[:4] == b"PAR1"
    again = shell("transform", "d.csv", "--code", "made.py", "-q")
    assert (again.out, again.talk) == ("city,n\nOslo,4\nRome,2\n", "")


@pytest.mark.slow
def test_every_attempt_at_a_model_is_listed(shell: Shell) -> None:
    job = shell("transform", written(shell, "d.csv", DATA), "sum n by city", "--json").json
    calls = shell("jobs", "llm-calls", job["id"], "--json").json["items"]
    assert [call["outcome"] for call in calls] == ["ok", "ok"]
    assert {call["source"] for call in calls} == {"scripted"}
    assert "execution.transform" in shell("jobs", "llm-calls", job["id"]).out


@pytest.mark.slow
def test_no_wait_prints_the_id_alone(shell: Shell) -> None:
    ran = shell("execute", written(shell, "p.py", "print(1)"), "--no-wait", "--label", "team=x", "--label", "run=7")
    id = ran.out.strip()
    waited = shell("jobs", "wait", id, "--timeout", "60")
    assert waited.status == 0
    assert json.loads(waited.out)["stdout"] == "1\n"
    listed = shell("jobs", "ls", "--label", "run=7", "--json").json["items"]
    assert [job["id"] for job in listed] == [id]
    replayed = shell("jobs", "replay", id).out.strip()
    assert shell("jobs", "wait", replayed, "--json").json["replayed_from"] == id


@pytest.mark.slow
def test_watch_prints_events_as_json_lines(shell: Shell) -> None:
    id = shell("execute", written(shell, "p.py", "print(1)"), "--no-wait").out.strip()
    events = [json.loads(line) for line in shell("jobs", "watch", id, "--json").out.splitlines()]
    assert events[0]["type"] == "job_queued"
    assert events[-1]["type"] == "job_succeeded"
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})


@pytest.mark.slow
def test_events_are_listed_by_type_and_in_pages(shell: Shell) -> None:
    id = shell("execute", written(shell, "p.py", "print('x')"), "--json").json["id"]
    page = shell("jobs", "events", id, "--json").json
    assert [each["type"] for each in page["items"]][:2] == ["job_queued", "job_started"]
    assert (page["state"], page["next_after"]) == ("succeeded", None)
    first = shell("jobs", "events", id, "--limit", "1")
    assert "job_queued" in first.out
    assert f"--after {page['items'][0]['seq']}" in first.out
    only = shell("jobs", "events", id, "--type", "output", "--after", "1", "--json").json["items"]
    assert {each["type"] for each in only} == {"output"}
    assert "".join(each["text"] for each in only) == "x\n"
    assert shell("jobs", "events", "no-such-job").status != 0
