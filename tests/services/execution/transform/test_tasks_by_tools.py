"""The suite of tasks over real tables, solved by the strategy of tools, against stored answers."""

from __future__ import annotations

import pytest

from benchmarks.tasks import TRANSFORM, Task
from tests.services.execution.transform.solving import assert_right, run
from tests.services.execution.transform.support import TransformJobs, calls


@pytest.mark.slow
@pytest.mark.parametrize("task", TRANSFORM[::3], ids=lambda task: task.name)
def test_the_tools_strategy_solves_it(jobs: TransformJobs, task: Task) -> None:
    finish = calls(("finish", {"second": task.sql}))
    replies = [calls(("look", {})), calls(("run_code", {"code": task.pandas})), finish]
    assert_right(task, run(jobs, task, "pandas", *replies, strategy="tools"))
    assert len(jobs.script.asked) == 3
