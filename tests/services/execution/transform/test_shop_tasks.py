"""The fifty tasks of the shop: pandas and DuckDB agree on each, and a wrong answer to any of them is seen."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from benchmarks.tasks import SHOP, TRANSFORM, Cells, Task, same


def by_pandas(task: Task) -> Cells:
    names: dict[str, Any] = {name: pd.DataFrame(list(rows)) for name, rows in task.rows.items()}
    exec(task.pandas, names)
    result: pd.DataFrame = names["result"]
    return [[None if pd.isna(cell) else cell for cell in row] for row in result.astype(object).to_numpy().tolist()]


@pytest.mark.parametrize("task", SHOP, ids=lambda task: task.name)
def test_pandas_and_duckdb_agree(task: Task) -> None:
    answer, computed = task.answer, by_pandas(task)
    assert same(computed, answer, ordered=True), (computed[:5], answer[:5])
    assert 1 <= len(answer) <= 1000
    assert not same(computed[:-1], answer, ordered=True)


@pytest.mark.slow
def test_there_are_fifty_and_none_is_among_the_others() -> None:
    assert len(SHOP) == 50
    everything = [*TRANSFORM, *SHOP]
    assert len({task.name for task in everything}) == len({task.text for task in everything}) == len(everything)
    assert len({str(task.answer) for task in SHOP}) == 50, "two tasks with one answer"
