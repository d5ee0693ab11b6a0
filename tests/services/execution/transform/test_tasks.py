"""The suite of tasks over real tables, solved in every language, against stored answers."""

from __future__ import annotations

import pytest

from benchmarks.tasks import TRANSFORM, Task
from tests.services.execution.transform.solving import assert_right, run
from tests.services.execution.transform.support import TransformJobs
from tests.support.languages import skip_unless_installed


def code_of(task: Task, language: str) -> str:
    return {"pandas": task.pandas, "polars": task.polars, "sql": task.sql, "r": task.r}[language]


def test_there_are_at_least_forty_tasks() -> None:
    assert len(TRANSFORM) >= 40
    assert len({task.name for task in TRANSFORM}) == len(TRANSFORM)


#: Each task in two of the languages, by turns: `make eval` solves all of them with pandas.
SOLUTIONS = [
    (task, language)
    for number, task in enumerate(TRANSFORM)
    for language in (("pandas", "sql"), ("polars", "r"))[number % 2]
    if code_of(task, language)
]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "language"), SOLUTIONS, ids=lambda part: getattr(part, "name", part))
def test_the_deterministic_strategy_solves_it(jobs: TransformJobs, task: Task, language: str) -> None:
    fence = "python" if language in ("pandas", "polars") else language
    skip_unless_installed(jobs.sandbox, fence)
    code = code_of(task, language)
    rows = f"rows == {len(task.answer)}"
    assert_right(task, run(jobs, task, language, f"```{fence}\n{code}\n```", assertions=[rows]))
    assert len(jobs.script.asked) == 1
