"""Code that does its worst: a message in its place, the rest continues, and the document is never lost."""

from __future__ import annotations

import pytest

from shared.loop import Budget
from tests.services.execution.documents.support import DocumentJobs, Ending, block, codes, python


def test_half_of_a_surrogate_pair_and_nul_pass_through_a_whole_job(jobs: DocumentJobs) -> None:
    text = python("s = 'a\\ud800\\0b'\nprint(s)\ns") + "::: describe {{ s }} :::\n"
    result = jobs.run(text)
    assert jobs.sent() == ["a?\u2400b"]
    jobs.keep("one", result)
    again = jobs.run(text, previous_job_id="one")
    assert [one.status for one in again.blocks] == ["fresh", "fresh"]


@pytest.mark.parametrize(
    ("code", "look"),
    [
        ("x = []\nfor _ in range(500): x = [x]", "list"),
        ("x = {}\nx['x'] = x", "{...}"),
        ("class A:\n    def __repr__(self): raise ValueError('no')\nx = A()", "<A: its repr raised ValueError>"),
        ("class A:\n    def __repr__(self): return 'b' * 10**8\nx = A()", "bbb"),
        ("class A(dict):\n    def items(self): raise ValueError\n    __iter__ = items\nx = A(a=1)", "A"),
        ("import pandas as pd\nx = pd.DataFrame({'o': [object(), [1], {'a': 1}]})", "3 rows x 1 columns"),
        ("import pandas as pd\nx = pd.DataFrame([[1, 2]], columns=['a', 'a'])", "a_1 (int64)"),
    ],
)
def test_a_value_that_resists_is_a_bounded_look(jobs: DocumentJobs, code: str, look: str) -> None:
    result = jobs.run(python(code) + "::: describe {{ x }} :::\n")
    assert [one.status for one in result.blocks] == ["ok", "ok"]
    assert codes(block(result, "instruction-1")) == []
    assert look in jobs.sent()[0]
    assert len(jobs.sent()[0]) < 20_000


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nx = np.zeros(100_000_000)",
        "x = bytearray(700_000_000)",
        "x = b'a' * 700_000_000",
        "x = 'a' * 800_000_000",
        "import pandas as pd, numpy as np\nx = pd.Series(np.zeros(60_000_000))",
        "x = {number: None for number in range(4_000_000)}",
    ],
)
def test_a_value_of_nearly_all_the_memory_is_looked_at_where_it_is(jobs: DocumentJobs, code: str) -> None:
    result = jobs.run(python(code) + "::: describe {{ x }} :::\n" + python("len(x) > 9"))
    assert [one.status for one in result.blocks] == ["ok", "ok", "ok"]
    assert codes(block(result, "instruction-1")) == []
    assert block(result, "instruction-1").variables[0].truncated
    assert len(jobs.sent()[0]) < 20_000


def test_a_kernel_that_dies_while_a_message_is_filled_in_sends_the_original(jobs: DocumentJobs) -> None:
    dies = "import os\nclass A:\n    def __repr__(self): os._exit(1)\nx = A()\nz = 1"
    result = jobs.run(python(dies) + "::: describe {{ x }} :::\n" + python("z") + python("2"))
    assert jobs.sent() == ["{{ x }}"]
    assert codes(block(result, "instruction-1")) == ["not_rendered"]
    assert block(result, "chunk-2").status == "skipped"
    assert "the python kernel" in block(result, "chunk-2").messages[0].text
    assert block(result, "chunk-3").status == "ok"


def test_code_that_speaks_over_its_kernel_ends_it_at_once(jobs: DocumentJobs) -> None:
    code = "import os\nfor fd in range(3, 12):\n    try: os.write(fd, b'\\xff' * 64)\n    except OSError: pass"
    result = jobs.run(python(code) + python("3"), budget=Budget(seconds=60))
    assert block(result, "chunk-1").status == "error"
    assert "timeout_wall" not in codes(block(result, "chunk-1"))
    assert [output.text for output in block(result, "chunk-2").outputs] == ["3"]


@pytest.mark.slow(seconds=1)
def test_the_budgets_clock_ends_a_chunk_that_is_under_way(jobs: DocumentJobs) -> None:
    text = python("x = 1\nx") + python("import time\ntime.sleep(60)") + python("y = 2") + "::: describe {{ x }} :::\n"
    budget = Budget()
    result = jobs.run(text, budget=budget, report=Ending(budget=budget, block="chunk-2", seconds=1))
    assert [one.status for one in result.blocks] == ["ok", "error", "skipped", "skipped"]
    assert "timeout_wall" in codes(block(result, "chunk-2"))
    assert result.markdown == text


@pytest.mark.slow
def test_a_chunk_that_begins_with_the_budgets_last_moment_ends_and_what_was_done_is_there(jobs: DocumentJobs) -> None:
    text = python("x = 1\nx") + python("import time\ntime.sleep(60)") + python("y = 2") + "::: describe {{ x }} :::\n"
    budget = Budget()
    result = jobs.run(text, budget=budget, report=Ending(budget=budget, block="chunk-2"))
    assert [one.status for one in result.blocks] == ["ok", "error", "skipped", "skipped"]
    assert "timeout_wall" in codes(block(result, "chunk-2"))
    assert codes(block(result, "instruction-1")) == ["budget_spent"]
    assert result.markdown == text
    jobs.keep("one", result)
    again = jobs.run(text.replace("time.sleep(60)", "pass"), previous_job_id="one")
    assert [one.status for one in again.blocks if one.kind != "suggestion"] == ["fresh", "ok", "ok", "ok"]
    assert jobs.sent() == ["1"]


@pytest.mark.slow(seconds=5)
def test_a_document_of_many_blocks_runs_as_many_as_it_may(jobs: DocumentJobs) -> None:
    text = "".join(f"`{number}`{{python exec}}\n\n" for number in range(12_000))
    budget = Budget()
    result = jobs.run(text, budget=budget, report=Ending(budget=budget, block="expression-3"))
    assert len(result.blocks) == 10_001
    assert [one.status for one in result.blocks[:2]] == ["ok", "ok"]
    assert codes(result.blocks[5000]) == ["budget_spent"]
    assert codes(result.blocks[-1]) == ["too_many_blocks"]
    told = jobs.report.of("block_finished")
    assert len(told) == len(jobs.report.of("block_started"))
    assert 100 <= len(told) <= 110
    assert result.markdown == text


def test_an_expression_that_ends_its_kernel_is_told_and_the_rest_goes_on(jobs: DocumentJobs) -> None:
    text = python("x = 1") + "`__import__('os')._exit(1)`{python exec}\n\n`x`{python exec}\n\n`2`{python exec}\n"
    result = jobs.run(text)
    assert [codes(one) for one in result.blocks] == [[], ["kernel_ended"], ["dependency_failed"], []]
    assert [output.text for output in result.blocks[-1].outputs] == ["2"]
