"""Counts in texts: one of a thing is not written as several."""

from __future__ import annotations

import polars as pl
import pytest

from services.execution.transform.checks import holds_of
from services.execution.transform.prose import in_prose
from shared.amounts import amount
from shared.declarations.assertions import parse_assertion


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1200, "1,200 rows"), (-1, "-1 rows")]
)
def test_an_amount_is_written_as_a_person_would(count: int, text: str) -> None:
    assert amount(count, "row") == text


@pytest.mark.parametrize(
    ("assertion", "result", "said"),
    [
        ("rows == 2", [1], "the result has 1 row"),
        ("rows == 2", [1, 1, 2], "the result has 3 rows"),
        ("unique(n)", [1, 1], "1 row repeats an earlier one"),
        ("unique(n)", [1, 1, 1], "2 rows repeat an earlier one"),
        ("n > 5", [1], "otherwise in 1 of 1 row"),
        ("n > 5", [1, 9], "otherwise in 1 of 2 rows"),
    ],
)
def test_a_check_counts_one_row_as_one(assertion: str, result: list[int], said: str) -> None:
    frame = pl.DataFrame({"n": result})

    assert holds_of(parse_assertion(assertion), frame, frame) == (False, said)


def test_a_prompt_asks_for_one_row_as_one() -> None:
    assert in_prose(["rows == 1", "rows == 2"]) == [
        "The result has exactly 1 row.",
        "The result has exactly 2 rows.",
    ]
