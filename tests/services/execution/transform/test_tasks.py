"""The suite of tasks over real tables: both strategies, every language, against stored answers."""

from __future__ import annotations

import pytest

from benchmarks.tasks import TRANSFORM, Task, content, same
from shared.contracts.transform import TransformResult
from shared.llm.chat import ChatReply
from tests.services.execution.transform.support import TransformJobs, calls
from tests.support.languages import skip_unless_installed


def code_of(task: Task, language: str) -> str:
    return {"pandas": task.pandas, "polars": task.polars, "sql": task.sql, "r": task.r}[language]


def run(jobs: TransformJobs, task: Task, language: str, *replies: str | ChatReply, **wanted: object) -> TransformResult:
    data: list[dict[str, object]] = []
    for name in task.data:
        file, body = content(name)
        data.append({"name": name, "file_id": jobs.files.add(file, body)})
    data += [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
    frame = {"dataframe": language} if language in ("pandas", "polars") else {}
    spoken = "python" if frame else language
    return jobs.transform(*replies, data=data, task=task.text, language=spoken, **frame, **wanted)


def assert_right(task: Task, result: TransformResult) -> None:
    assert result.status == "done"
    assert result.table is not None
    assert result.table.row_count == len(task.answer)
    assert same(result.table.rows, [list(row) for row in task.answer[:50]], task.ordered), result.table.rows[:5]


def test_there_are_at_least_forty_tasks() -> None:
    assert len(TRANSFORM) >= 40
    assert len({task.name for task in TRANSFORM}) == len(TRANSFORM)


SOLUTIONS = [
    (task, language) for task in TRANSFORM for language in ("pandas", "polars", "sql", "r") if code_of(task, language)
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


@pytest.mark.slow
@pytest.mark.parametrize("task", TRANSFORM, ids=lambda task: task.name)
def test_the_tools_strategy_solves_it(jobs: TransformJobs, task: Task) -> None:
    replies = [calls(("look", {})), calls(("run_code", {"code": task.pandas})), calls(("finish", {}))]
    assert_right(task, run(jobs, task, "pandas", *replies, strategy="tools"))
    assert len(jobs.script.asked) == 3
