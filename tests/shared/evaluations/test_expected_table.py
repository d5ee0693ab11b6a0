"""Whether a table is the expected one."""

from __future__ import annotations

import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.evaluations import ExpectedTable, Tolerance
from shared.evaluations.expected_table import NoTable, difference, expected_of


def table(columns: str, *rows: list[Any]) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "type": "string"} for name in columns.split()],
        "rows": list(rows),
        "row_count": len(rows),
    }


def told(csv: str, made: dict[str, Any] | None, **more: Any) -> str | None:
    return difference(expected_of(ExpectedTable(csv=csv, **more)), made)


def test_rows_may_come_in_any_order_and_columns_too() -> None:
    made = table("total city", [4, "Rome"], [8.0, "Oslo"])
    assert told("city,total\nOslo,8\nRome,4", made) is None
    assert told("city,total\nOslo,8\nRome,4", made, order="given") == "row 1, city: 'Rome' instead of 'Oslo'"
    assert told("city,total\nRome,4\nOslo,8", made, order="given") is None


def test_numbers_differ_by_the_tolerance_at_most() -> None:
    made = table("n", [10.4])
    assert told("n\n10", made) == "no row like {'n': 10.0}"
    assert told("n\n10", made, tolerance=0.5) is None
    assert told("n\n10", made, tolerance=Tolerance(relative=0.05)) is None
    assert told("n\n10", made, tolerance=Tolerance(relative=0.01)) is not None
    assert told("n\n0.3", table("n", [0.1 + 0.2])) is None


def test_rows_that_are_alike_within_the_tolerance_are_paired_so_that_all_have_one() -> None:
    made = table("n m", [1.0, 5], [1.4, 5], [1.8, 5])
    assert told("n,m\n1.4,5\n1.0,5\n1.8,5", made, tolerance=0.5) is None
    assert told("n,m\n1.4,5\n2.2,5\n0.6,5", made, tolerance=0.5) is None
    assert told("n,m\n1.4,5\n2.2,5\n2.2,5", made, tolerance=0.5) is not None


def test_a_row_counts_as_often_as_it_stands() -> None:
    made = table("c", ["a"], ["a"], ["b"])
    assert told("c\na\nb\na", made) is None
    assert told("c\na\nb\nb", made) == "no row like {'c': 'b'}"


def test_missing_values_truth_values_and_days_are_the_same_in_csv_and_in_frames() -> None:
    made = table("a b c", [None, True, "2026-01-02T00:00:00"], ["", False, "2026-01-03"])
    assert told("a,b,c\n,true,2026-01-02\n,False,2026-01-03", made) is None


def test_columns_may_be_called_otherwise_when_the_suite_says_so() -> None:
    made = table("city n", ["Oslo", 8])
    assert told("where,total\nOslo,8", made, columns="positional") is None
    assert told("total,where\n8,Oslo", made, columns="positional") is not None
    assert told("where\nOslo", made, columns="positional") == "2 columns instead of 1"


def test_what_is_other_is_told_in_words() -> None:
    made = table("city total", ["Oslo", 8])
    assert told("city,sum\nOslo,8", made) == "no column sum; unexpected column total"
    assert told("city,total\nOslo,8\nRome,4", made) == "1 row instead of 2"
    assert told("city\nOslo", None) == "the result has no table"
    assert told("city,total\nOslo,8\nRome,4", {**made, "row_count": 2}) == "only 1 of 2 rows came with the result"


def test_rows_as_objects_are_a_table_too() -> None:
    expected = expected_of(ExpectedTable(rows=[{"city": "Oslo", "total": 8}, {"city": "Rome"}]))
    assert difference(expected, table("city total", ["Rome", None], ["Oslo", 8])) is None


@pytest.mark.parametrize("csv", ["\n", "a,b\n1\n", "a,a\n1,2\n", 'a\n"1\n', "a\n" + "1\n" * 1001])
def test_what_is_no_table_is_refused(csv: str) -> None:
    with pytest.raises(NoTable):
        expected_of(ExpectedTable(csv=csv))


@pytest.mark.parametrize("spread", [0.0, 0.001, 0.4])
def test_a_thousand_rows_that_look_alike_are_compared_in_a_moment(spread: float) -> None:
    shift = [spread * (number % 7) / 7 for number in range(1000)]
    lines = "\n".join(f"{5 + each}" for each in shift)
    made = table("n", *[[5.0 + each] for each in reversed(shift)])
    began = time.process_time()
    assert told(f"n\n{lines}", made, tolerance=0.5) is None
    assert told(f"n\n{lines}", made) is None
    other = table("n", *[[5.0 + each] for each in shift[1:]], [9.0])
    assert told(f"n\n{lines}", other, tolerance=0.5) is not None
    assert time.process_time() - began < 5


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=7),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=7),
)
def test_rows_are_paired_whenever_they_can_be(wanted: list[tuple[int, int]], made: list[tuple[int, int]]) -> None:
    made = made[: len(wanted)]
    if len(made) < len(wanted):
        return
    lines = "\n".join(f"{a},{b}" for a, b in wanted)
    answer = told(f"a,b\n{lines}", table("a b", *[[a, b] for a, b in made]), tolerance=1.0)
    possible = any(
        all(abs(a - c) <= 1 and abs(b - d) <= 1 for (a, b), (c, d) in zip(wanted, order, strict=True))
        for order in permutations(made)
    )
    assert (answer is None) == possible
