"""Runs a task of the suite, and checks its answer."""

from __future__ import annotations

from benchmarks.tasks import Task, content, same
from shared.contracts.transform import TransformResult
from shared.llm.chat import ChatReply
from tests.services.execution.transform.support import TransformJobs


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
