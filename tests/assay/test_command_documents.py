"""The command runs, renders, checks and estimates documents."""

from __future__ import annotations

import json

import pytest

from tests.assay.terminal import Shell, written

DOCUMENT = """&[n]{int min=1 max=9 def=4}

```python exec
x = n
y = "hello"
```

::: describe Describe these values: {{x}} and {{y}} :::

::: include part.md

```python exec
1 / 0
```
"""


@pytest.mark.slow
def test_a_document_runs_and_prints_what_became_of_it(shell: Shell) -> None:
    report = written(shell, "report.md", DOCUMENT)
    written(shell, "part.md", "```python exec\nprint(x)\n```\n")
    ran = shell("doc", "run", report, "--file", "part.md", "--set", "n=5")
    assert ran.status == 1, ran.talk
    assert ran.out.startswith(DOCUMENT.partition("::: include")[0])
    assert "\nDescribed.\n:++\n" in ran.out
    assert "  ok line 8 instruction-1" in ran.talk
    assert ran.talk.count("ZeroDivisionError") == 2, "as the block ends, and once in the end"
    assert "report.md:12: error: ZeroDivisionError: division by zero [code_failed]" in ran.talk
    quiet = shell("doc", report, "--quiet")
    assert (quiet.status, "ZeroDivisionError" in quiet.talk, "8 blocks" in quiet.talk) == (1, True, False)
    job = ran.talk.partition("--previous ")[2].split()[0]
    again = shell("doc", "run", report, "--file", "part.md", "--set", "n=5", "--previous", job, "-o", "done.md")
    assert (again.status, again.out) == (1, "")
    assert "5 fresh, 1 error" in again.talk
    assert (shell.folder / "done.md").read_text() == ran.out


@pytest.mark.slow
def test_a_document_becomes_a_page(shell: Shell) -> None:
    ran = shell("doc", "run", written(shell, "report.md", DOCUMENT), "-o", "out.html")
    assert (ran.status, ran.out) == (1, "")
    assert "Described." in (shell.folder / "out.html").read_text()
    told = shell("doc", "run", "report.md", "--json", "-o", "told.html")
    assert (told.status, (shell.folder / "told.html").exists()) == (1, True)
    seen = json.loads(told.out)["result"]["blocks"][2]
    assert seen["message_rendered"] == "Describe these values: 4 and hello"


@pytest.mark.slow
def test_a_document_is_checked_without_running(shell: Shell) -> None:
    report = written(shell, "report.md", DOCUMENT + "\n::: describe [bad!] it :::\n\n```python exec\nx = = 1\n```\n")
    ran = shell("doc", "check", report)
    assert ran.status == 1
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    assert ["8", "instruction", "instruction-1", "describe: Describe these values: {{x}} and {{y}}"] in rows
    assert 'parameter n: {"type": "integer", "default": 4, "maximum": 9, "minimum": 1}' in ran.out
    assert "report.md:10: error: The document's files have no part.md. (give it with --file)" in ran.out
    assert "report.md:16: error: [bad!] does not name models" in ran.out
    assert "report.md:18: error: Line 19: SyntaxError" in ran.out
    assert "ZeroDivisionError" not in ran.out
    assert shell("doc", "check", written(shell, "good.md", "Text.\n")).status == 0
    assert shell("doc", "check", "nothing.md").status == 2


@pytest.mark.slow
def test_a_document_is_estimated(shell: Shell) -> None:
    ran = shell("doc", "run", written(shell, "report.md", DOCUMENT), "--dry-run")
    assert ran.out, ran.talk
    assert ran.out.splitlines()[0] == "line 8: Describe these values: 4 and hello"
    assert "1 model call," in ran.out.splitlines()[1]
    wrong = shell("doc", "run", "report.md", "--set", "n=50")
    assert (wrong.status, wrong.out) == (1, "")
    assert "parameters.n: " in wrong.talk


@pytest.mark.slow
def test_an_instruction_whose_values_are_missing_need_not_be_paid_for(shell: Shell) -> None:
    broken = written(shell, "broken.md", "```python exec\nmean = 1 / 0\n```\n\n::: describe Describe {{mean}} :::\n")
    calls = {}
    for choice in ("send", "skip", "fail"):
        ran = shell("doc", "run", broken, "--execute", "all", "--on-missing", choice, "--json")
        assert ran.status == 1
        calls[choice] = (ran.json["usage"]["llm_calls"], ran.json["result"]["blocks"][1]["status"])
    assert calls == {"send": (1, "ok"), "skip": (0, "skipped"), "fail": (0, "error")}
