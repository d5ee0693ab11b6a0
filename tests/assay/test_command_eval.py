"""`assay eval` against a running installation."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.calls.call import ApiCall
from assay.commands import evaluate
from assay.commands.session import CommandLine
from tests.assay.terminal import DATA, ROOT, Shell, written
from tests.support.wait import until

SUITE = """\
name: totals
cases:
  - name: by city
    kind: transform
    input: {task: "sum by city", data: [{name: data, file: cities.csv}]}
    expect: {table: {csv: "city,n\\nOslo,4\\nRome,2"}, assertions: [rows == 2, "unique(city)"]}
  - name: product
    kind: execute
    input: {language: python, code: "print(6*7)"}
    expect: {verdict: ok, stdout: "%s"}
"""


@pytest.mark.slow(seconds=4)
def test_a_suite_is_run_compared_and_judged(shell: Shell) -> None:
    written(shell, "cities.csv", DATA)
    suite = written(shell, "totals.yaml", SUITE % 42)
    ran = shell("eval", "run", suite, "--json", "--model", "groq/a", "--model", "groq/b", "--repeat", "2")
    assert ran.status == 0, ran.talk
    told: dict[str, Any] = ran.json
    assert told["state"] == "finished"
    assert [cell["successes"] for cell in told["cells"]] == [2, 2, 2, 2]
    assert told["comparisons"] == [{"a": "groq/a", "b": "groq/b", "difference": 0.0, "p": 1.0}]

    wrong = written(shell, "wrong.yaml", SUITE % 43)
    report = shell.folder / "report.html"
    ran = shell("eval", "run", wrong, "--model", "groq/a", "--require", "0.9", "--html", report.name, "--yes")
    assert ran.status == 1
    assert "1/2 0.50 [0.09, 0.91]" in ran.out
    assert "groq/a: 0.500 of the runs succeeded, 0.9 required" in ran.talk
    assert "wrong_output" in report.read_text()
    judged_by_nothing = shell("eval", "run", wrong, "--model", "groq/a", "--yes")
    assert judged_by_nothing.status == 8
    assert "groq/a: 1 of 2 runs failed (wrong_output 1)" in judged_by_nothing.talk
    assert "--require SHARE" in judged_by_nothing.talk
    assert shell("eval", "run", wrong, "--model", "groq/a", "--require", "0.5", "--yes").status == 0
    compared = shell("eval", "run", wrong, "--model", "groq/a", "--baseline", told["id"])
    assert compared.status == 1
    assert "worse than the baseline" in compared.talk
    assert shell("eval", "run", suite, "--model", "groq/a", "--baseline", told["id"]).status == 0

    assert told["id"] in shell("eval", "ls").out
    assert shell("eval", "show", told["id"], "--require", "1").status == 0
    assert shell("eval", "resume", told["id"], "--json").json == told
    assert json.loads(shell("eval", "runs", told["id"], "--case", "product", "--json").out)["items"][0]["success"]
    assert shell("eval", "cancel", told["id"]).status == 1


@pytest.mark.slow(seconds=2)
def test_a_finished_job_becomes_a_case_that_holds(shell: Shell) -> None:
    written(shell, "cities.csv", DATA)
    job = shell("transform", "cities.csv", "sum by city", "--mask", "city", "--json").json["id"]
    added = shell("eval", "add", job, "--suite", "life/mine.yaml")
    assert (added.status, added.out.strip()) == (2, "")  # there is no such folder
    (shell.folder / "life").mkdir()
    assert shell("eval", "add", job, "--suite", "life/mine.yaml").out.strip() == "life/mine.yaml: sum by city"
    assert shell("eval", "add", job, "--suite", "life/mine.yaml", "--name", "again").status == 0
    assert shell("eval", "add", job, "--suite", "life/mine.yaml", "--name", "again").status == 2
    assert (shell.folder / "life" / "files" / "cities.csv").read_text() == DATA
    assert "mask" in (shell.folder / "life" / "mine.yaml").read_text()
    ran = shell("eval", "run", "life/mine.yaml", "--require", "1")
    assert ran.status == 0, (ran.out, ran.talk)


@pytest.mark.slow(seconds=3)
def test_the_suite_that_ships_holds(shell: Shell) -> None:
    ran = shell("eval", "run", str(ROOT / "evals" / "basics.yaml"), "--require", "1")
    assert ran.status == 0, (ran.out, ran.talk)


@pytest.mark.slow
def test_a_suite_that_cannot_be_read_is_told_with_its_line_and_field(shell: Shell) -> None:
    mine = written(shell, "mine.yaml", SUITE.replace("verdict", "verdikt") % 42)
    ran = shell("eval", "run", mine)
    assert (ran.status, "mine.yaml:10: cases[1].expect.verdikt is not known" in ran.talk) == (2, True)
    written(shell, "cities.csv", DATA)
    servers = written(shell, "servers.yaml", SUITE.replace("language: python", "language: cobol") % 42)
    ran = shell("eval", "run", servers)
    assert (ran.status, "servers.yaml:9: cases[1].input.language" in ran.talk) == (2, True)
    assert shell("eval", "run", "none.yaml").status == 2


@pytest.mark.slow(seconds=3)
def test_prompts_and_models_are_used_when_their_suite_passes(shell: Shell) -> None:
    written(shell, "cities.csv", DATA)
    good, bad = (written(shell, f"{n}.yaml", SUITE % n) for n in (42, 43))
    key = "execution.transform"
    before = shell("prompts", "get", key, "--json").json
    text = written(shell, "new.md", before["text"] + "\nMind the gaps.\n")
    refused = shell("prompts", "publish", key, text, "--gated-by", bad)
    assert (refused.status, "is not published" in refused.talk) == (1, True)
    assert shell("prompts", "get", key, "--json").json["version"] == before["version"]
    published = shell("prompts", "publish", key, text, "--gated-by", good)
    assert published.status == 0, published.talk
    [newest, *_] = shell("prompts", "versions", key, "--json").json["items"]
    assert (newest["gate"]["successes"], newest["gate"]["runs"]) == (2, 2)
    assert "2/2 of" in shell("prompts", "versions", key).out
    assert shell("prompts", "publish", key, str(before["version"])).status == 0

    assert shell("models", "set", key, "groq/m", "--gated-by", bad).status == 1
    capped = ("--max-tokens", "500", "--effort", "low", "-p", "top_p=0.5")
    assert shell("models", "set", key, "groq/m", *capped, "--gated-by", good, "--require", "0.9").status == 0
    assert "top_p=0.5 max_tokens=500 reasoning_effort=low" in shell("models", "ls").out
    assert shell("models", "reset", "--yes").status == 0


@pytest.mark.slow(seconds=4)
def test_a_shadow_does_live_jobs_again(shell: Shell) -> None:
    written(shell, "cities.csv", DATA)
    arguments = ("--model", "groq/b", "--share", "1", "--tokens-per-day", "1000000")
    shadow = shell("eval", "shadow", "start", "transform", *arguments, "--json").json["id"]
    try:
        shell("transform", "cities.csv", "sum by city")

        def compared() -> bool:
            totals = [total for each in seen()["evaluations"] for total in each["totals"]]
            return [(total["variant"], total["runs"]) for total in totals] == [("live", 1), ("shadow", 1)]

        def seen() -> dict[str, Any]:
            told: dict[str, Any] = shell("eval", "shadow", "show", shadow, "--json").json
            return told

        until(compared, "the job was done again")
        assert seen()["tokens_today"] > 0
        assert "again with groq/b" in shell("eval", "shadow", "show", shadow).out
        assert shadow in shell("eval", "shadow", "ls").out
        evaluation = shell("eval", "show", seen()["evaluations"][0]["id"]).out
        assert "shadow of transform" in shell("eval", "ls").out
        assert "live" in evaluation
    finally:
        assert "stopped" in shell("eval", "shadow", "stop", shadow).out


@pytest.mark.parametrize(("state", "deleted"), [("finished", ["/v1/flows/a", "/v1/flows/b"]), ("cancelled", [])])
def test_flows_that_cases_began_with_go_when_no_run_can_follow(state: str, deleted: list[str]) -> None:
    sent: list[ApiCall[None]] = []
    session = cast("CommandLine", SimpleNamespace(client=SimpleNamespace(send=sent.append)))
    evaluate._delete_flows(session, {"state": state}, ["a", "b"])
    assert [(call.method, call.path) for call in sent] == [("DELETE", path) for path in deleted]
