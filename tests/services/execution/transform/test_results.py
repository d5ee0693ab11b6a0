"""Which run counts as the best so far, and which code is the same code again."""

from __future__ import annotations

import pytest

from services.execution.transform.results import CodeRun, RunHistory, RunOutcome


def run(code: str, outcome: RunOutcome) -> CodeRun:
    return CodeRun(code, outcome, "")


@pytest.mark.parametrize(
    ("outcomes", "best"),
    [
        (["error", "assertion_failed"], None),
        (["result", "error"], 0),
        (["result", "result"], 1),
        (["result", "no_op"], 0),
        (["no_op", "no_op"], 1),
        (["no_op", "result", "not_a_table"], 1),
    ],
)
def test_the_last_good_run_is_the_best_and_one_that_changes_something_wins(
    outcomes: list[RunOutcome], best: int | None
) -> None:
    progress = RunHistory()
    runs = [run(str(number), outcome) for number, outcome in enumerate(outcomes)]
    for each in runs:
        progress.add(each, "")
    assert progress.best is (None if best is None else runs[best])


def test_failures_are_counted_until_a_good_run() -> None:
    progress = RunHistory()
    counts = []
    for outcome in ("error", "not_a_table", "result", "assertion_failed"):
        progress.add(run("x", outcome), "")
        counts.append(progress.failures)
    assert counts == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("code", "same"), [("result = 1", True), ("# again\n\nresult = 1  ", True), ("result = 2", False)]
)
def test_comments_and_blanks_make_no_other_code(code: str, same: bool) -> None:
    progress = RunHistory()
    progress.add(run("result = 1", "result"), "")
    assert progress.repeats_best(code) is same
