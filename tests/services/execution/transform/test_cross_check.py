"""A second computation of the result, stated by the model in another language."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import polars as pl
import pytest

from services.execution.transform.cross_check import (
    Computation,
    computation_in,
    difference,
    has_open_order,
    is_too_large,
)
from services.execution.transform.replies import find_code
from tests.services.execution.transform.support import TransformJobs, python
from tests.support.languages import skip_unless_installed

SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
MEAN = "result = data.groupby('city', as_index=False).amount.mean()"
RIGHT = "SELECT city, avg(amount) FROM data GROUP BY city ORDER BY city"
TABLE = pl.DataFrame({"city": ["a", "b", "c"], "n": [2, 2, 1]})


def second(code: str, language: str = "sql") -> str:
    return f"\n```{language} check\n{code}\n```\n"


def test_a_second_computation_that_agrees_ends_the_work_after_one_call(jobs: TransformJobs) -> None:
    result = jobs.transform(python(MEAN) + second(RIGHT), data=SALES)
    assert result.status == "done"
    assert len(jobs.script.asked) == 1
    assert ("the same rows in DuckDB SQL", True) in [(check.text, check.held) for check in result.checks]


def test_one_that_differs_is_feedback_and_done_over_it_is_unverified(jobs: TransformJobs) -> None:
    wrong = MEAN.replace("mean", "median")
    data = SALES + "Berlin,0\nBerlin,100\n"
    result = jobs.transform(python(wrong) + second(RIGHT), "DONE", data=data)
    assert result.status == "unverified"
    assert [reason.code for reason in result.unverified_because] == ["own_check_failed"]
    assert "other values in amount" in jobs.script.last()
    corrected = jobs.transform(python(wrong) + second(RIGHT), python(MEAN), data=data)
    assert corrected.status == "done", "the second computation of the first reply is held against the new code"


def test_sql_is_computed_a_second_time_in_python(jobs: TransformJobs) -> None:
    code = "result = data.groupby('city', as_index=False).amount.mean()"
    reply = f"```sql\n{RIGHT}\n```" + second(code, "python")
    assert jobs.transform(reply, data=SALES, language="sql").status == "done"
    assert len(jobs.script.asked) == 1
    assert "```python check" in jobs.script.said()


DAYS = "day,n\n2025-01-01,1\n2025-01-02,2\n2025-01-05,3\n"


def test_dates_are_dates_in_the_second_language(jobs: TransformJobs) -> None:
    code = "import pandas as pd\nresult = pd.DataFrame({'days': [(data.day.max() - data.day.min()).days]})"
    query = "SELECT (max(day) - min(day) + 0)::INT AS days FROM data"
    assert jobs.transform(python(code) + second(query), data=DAYS).status == "done"
    assert len(jobs.script.asked) == 1, "the difference of two dates is a number in SQL, of two timestamps an interval"
    assert jobs.transform(f"```sql\n{query}\n```" + second(code, "python"), data=DAYS, language="sql").status == "done"
    assert len(jobs.script.asked) == 1


def test_r_is_computed_a_second_time_in_sql(jobs: TransformJobs) -> None:
    skip_unless_installed(jobs.sandbox, "r")
    code = "result <- aggregate(amount ~ city, data, mean)"
    assert jobs.transform(f"```r\n{code}\n```" + second(RIGHT), data=SALES, language="r").status == "done"
    assert len(jobs.script.asked) == 1


@pytest.mark.parametrize("code", ["SELECT nothing FROM data", "CREATE TABLE t AS SELECT 1", "SELECT * FROM other"])
def test_one_that_does_not_run_proves_nothing_and_may_be_corrected(jobs: TransformJobs, code: str) -> None:
    result = jobs.transform(python(MEAN) + second(code), "DONE", data=SALES)
    assert len(jobs.script.asked) == 2
    assert "gave no table: " in jobs.script.last()
    assert [reason.code for reason in result.unverified_because] == ["not_checked"]
    corrected = jobs.transform(python(MEAN) + second(code), "DONE" + second(RIGHT), data=SALES)
    assert corrected.status == "done"
    assert len(jobs.script.asked) == 2


def test_a_model_that_states_nothing_is_asked_for_a_second_computation(jobs: TransformJobs) -> None:
    result = jobs.transform(python(MEAN), "DONE" + second(RIGHT), data=SALES)
    assert result.status == "done"
    assert "Nothing checks this result" in jobs.script.last()
    assert "DONE and, below it, a block that starts with ```sql check: DuckDB SQL code" in jobs.script.last()
    assert jobs.transform(python(MEAN), second(RIGHT), data=SALES).status == "done", "without the word DONE, too"
    assert jobs.transform(python(MEAN), python(MEAN) + second(RIGHT), data=SALES).status == "done"
    refused = jobs.transform(python(MEAN), "DONE", data=SALES)
    assert refused.status == "unverified"
    assert [reason.code for reason in refused.unverified_because] == ["not_checked"]


def test_a_slip_differs_from_a_second_computation_on_request(jobs: TransformJobs) -> None:
    data = SALES + "Berlin,0\nBerlin,100\n"
    wrong = MEAN.replace("mean", "median")
    result = jobs.transform(python(wrong), "DONE" + second(RIGHT), "DONE", data=data)
    assert [reason.code for reason in result.unverified_because] == ["own_check_failed"]
    assert "gives another result: other values in amount" in jobs.script.last()
    again = jobs.transform(
        python(wrong), "DONE" + second(RIGHT), "DONE" + second(RIGHT.replace("avg", "median")), data=data
    )
    assert again.status == "unverified", "a second computation that differed is not replaced by one that agrees"
    assert jobs.transform(python(wrong), "DONE" + second(RIGHT), python(MEAN), data=data).status == "done"


STATED = "SELECT * FROM (VALUES ('Berlin', 7.5), ('Paris', 20.0))"


@pytest.mark.parametrize(
    "code", [STATED, f"{STATED}, (SELECT 1 FROM data LIMIT 1)".replace("SELECT *", "SELECT col0, col1")]
)
def test_a_second_computation_that_states_the_rows_proves_nothing(jobs: TransformJobs, code: str) -> None:
    result = jobs.transform(python(MEAN), "DONE" + second(code), "DONE", data=SALES)
    assert [reason.code for reason in result.unverified_because] == ["not_checked"]
    assert "gives the same rows whatever the data hold" in jobs.script.last()
    assert jobs.transform(python(MEAN), "DONE" + second(code), "DONE" + second(RIGHT), data=SALES).status == "done"


@pytest.mark.parametrize("code", ["SELECT count(*) AS n FROM data", "SELECT count(*) AS n FROM data WHERE amount > 99"])
def test_counts_are_computed_from_the_data(jobs: TransformJobs, code: str) -> None:
    condition = "(data.amount > 99).sum()" if "99" in code else "len(data)"
    run = f"import pandas as pd\nresult = pd.DataFrame({{'n': [{condition}]}})"
    assert jobs.transform(python(run) + second(code), data=SALES).status == "done"


@pytest.mark.parametrize("confirm", ["always", "never"])
def test_the_caller_may_be_content_without_checks(jobs: TransformJobs, confirm: str) -> None:
    result = jobs.transform(python(MEAN), "DONE", data=SALES, confirm=confirm)
    assert result.status == "done"
    assert "```sql check" not in jobs.script.said()


def test_many_rows_are_compared_by_column() -> None:
    rows = 100_001
    one = pl.DataFrame({"a": range(rows), "day": [datetime(2025, 1, 1)] * rows, "t": ["x"] * rows})
    two = pl.DataFrame(
        {"a": [float(n) for n in reversed(range(rows))], "day": [date(2025, 1, 1)] * rows, "t": ["x"] * rows}
    )
    assert difference(one, two, "") is None
    assert difference(one, two.with_columns(a=pl.col("a") + 1e-3), "") == "other values in a"
    assert difference(one, two.with_columns(t=pl.lit(None, pl.String)), "") == "other values in t"
    assert difference(one, two.head(rows - 1), "") == f"it has {rows - 1:,} rows, the result has {rows:,}"
    assert not is_too_large(one, two)
    nested = one.with_columns(t=pl.concat_list("a"))
    assert is_too_large(nested, nested)


def test_it_is_never_run_as_the_code_itself() -> None:
    reply = python("result = 1") + second("result = 2", "python")
    code = find_code(reply, "python")
    assert code is not None
    assert code.text == "result = 1"
    assert find_code(second("SELECT 1"), "sql") is None


def test_it_is_in_another_language_than_the_code() -> None:
    assert computation_in(second("SELECT 1"), "sql") is None, "the same code twice would prove nothing"
    assert computation_in(second("x", "javascript"), "python") is None
    assert computation_in("```sql\nSELECT 1\n```", "python") is None
    found = computation_in(second("SELECT 1") + second("SELECT 2"), "python")
    assert found is not None
    assert found.code == "SELECT 2"


@pytest.mark.parametrize(
    ("other", "code", "problem"),
    [
        ({"x": ["a", "b", "c"], "y": [2.0, 2.0, 1.0]}, "SELECT", None),
        ({"x": ["a", "b", "c"], "y": [Decimal(2), Decimal(2), Decimal(1)]}, "SELECT", None),
        ({"x": ["c", "a", "b"], "y": [1, 2, 2]}, "SELECT x, y FROM t", None),
        ({"x": ["b", "a", "c"], "y": [2, 2, 1]}, "SELECT x, y FROM t ORDER BY y DESC", None),
        ({"x": ["c", "b", "a"], "y": [1, 2, 2]}, "SELECT x, y FROM t ORDER BY y", "the rows are in another order"),
        (
            {"x": ["b", "a", "c"], "y": [2, 2, 1]},
            "SELECT x FROM t ORDER BY 2 DESC, x DESC",
            "the rows are in another order",
        ),
        ({"x": ["b", "a", "c"], "y": [2, 2, 1]}, "SELECT x, rank() OVER (ORDER BY x) FROM t", None),
        ({"x": ["b", "a", "c"], "y": [2, 2, 1]}, "SELECT x FROM t ORDER BY y DESC, length(x) LIMIT 3;", None),
        ({"x": ["a", "b"], "y": [2, 2]}, "SELECT", "it has 2 rows, the result has 3"),
        ({"x": ["a", "b", "c"]}, "SELECT", "it has 1 column, the result has 2"),
        ({"x": ["a", "b", "c"], "y": [2, 2, 3]}, "SELECT", "other values in n"),
        ({"x": ["a", "b", "c"], "y": [1, 2, 2]}, "SELECT", "other combinations of the values"),
    ],
)
def test_rows_are_compared_by_value_and_in_the_order_of_the_query(
    other: dict[str, list[object]], code: str, problem: str | None
) -> None:
    assert difference(TABLE, pl.DataFrame(other), code) == problem


def test_dates_and_missing_values_are_the_same_in_every_language() -> None:
    one = pl.DataFrame({"day": [datetime(2025, 1, 7), None], "x": [0.1 + 0.2, float("nan")], "l": [[1, 2], None]})
    two = pl.DataFrame({"day": [date(2025, 1, 7), None], "x": [0.3, None], "l": [[1.0, 2.0], None]})
    assert difference(one, two, "") is None
    texts = two.with_columns(day=pl.Series(["2025-01-07 00:00:00", None]))
    assert difference(one, texts, "") is None


CITIES = pl.DataFrame({"city": ["a", "b", "c"], "total": [5, 9, 7]})
BY_TOTAL = CITIES.sort("total", descending=True)
SORTED = "result = data.groupby('city', as_index=False).total.sum().sort_values('total', ascending=False)"
GROUPED = "SELECT city, sum(total) AS total FROM data GROUP BY city"


@pytest.mark.parametrize(
    ("result", "other", "first", "second", "task", "is_open"),
    [
        (BY_TOTAL, BY_TOTAL, SORTED, f"{GROUPED} ORDER BY total DESC", "total by city, largest first", False),
        (BY_TOTAL, BY_TOTAL, SORTED, f"{GROUPED} ORDER BY sum(total) DESC", "total by city, largest first", False),
        (BY_TOTAL, BY_TOTAL, SORTED, f"{GROUPED} ORDER BY hash(city)", "total by city, largest first", False),
        (BY_TOTAL, CITIES, SORTED, f"{GROUPED} ORDER BY hash(city)", "total by city, largest first", True),
        (BY_TOTAL, CITIES, SORTED, GROUPED, "total by city, largest first", True),
        (BY_TOTAL, BY_TOTAL, SORTED, GROUPED, "total by city, largest first", True),
        (BY_TOTAL, CITIES, SORTED, f"SELECT * FROM ({GROUPED} ORDER BY total)", "totals", True),
        (BY_TOTAL, CITIES, SORTED, f"{GROUPED} -- ORDER BY total", "totals", True),
        (BY_TOTAL, BY_TOTAL, SORTED, f"CREATE TEMP TABLE t AS {GROUPED} ORDER BY total; FROM t", "totals", True),
        (BY_TOTAL, CITIES, SORTED, f"{GROUPED} ORDER BY SUM( total ) DESC;", "totals", False),
        (CITIES, CITIES, "result = data", GROUPED, "die drei größten Städte", True),
        (CITIES, CITIES, "result = data", GROUPED, "les trois plus grandes villes", True),
        (CITIES, CITIES, "result = data", GROUPED, "las ciudades de mayor a menor", True),
        (CITIES, CITIES, "result = data", GROUPED, "suma najnowsze na górze", False),
        (BY_TOTAL, CITIES, SORTED, GROUPED, "suma najnowsze na górze", True),
        (CITIES, BY_TOTAL, "result = data", GROUPED, "the total of each city", False),
        (BY_TOTAL, CITIES, "result = data.city.value_counts()", GROUPED, "how many of each city", False),
        (BY_TOTAL, CITIES, "result = data.city.value_counts()", GROUPED, "how many of each city, most first", True),
        (CITIES, CITIES, "result = data.head(3)", GROUPED, "the first three cities", False),
        (CITIES, BY_TOTAL, "result = data.head(3)", GROUPED, "the first of each, as they come", True),
        (CITIES.head(1), CITIES.head(1), SORTED, GROUPED, "the largest first", False),
    ],
)
def test_an_order_that_is_wanted_is_compared_or_open(
    result: pl.DataFrame, other: pl.DataFrame, first: str, second: str, task: str, is_open: bool
) -> None:
    computations = Computation("python", first), Computation("sql", second)
    assert has_open_order(result, other, *computations, task) is is_open


@pytest.mark.parametrize(
    ("first", "second", "other", "is_open"),
    [
        (f"{GROUPED} ORDER BY total DESC", SORTED, BY_TOTAL, False),
        (f"{GROUPED} ORDER BY 2 DESC, city", SORTED, BY_TOTAL, False),
        (f"{GROUPED} ORDER BY city", SORTED, CITIES, True),
        (f"{GROUPED} ORDER BY total DESC", "result = data", BY_TOTAL, True),
        (f"{GROUPED} ORDER BY city", "result = data.groupby('city', as_index=False).total.sum()", BY_TOTAL, False),
    ],
)
def test_an_order_of_sql_is_compared_with_that_of_python(
    first: str, second: str, other: pl.DataFrame, is_open: bool
) -> None:
    computations = Computation("sql", first), Computation("python", second)
    assert has_open_order(BY_TOTAL, other, *computations, "the totals") is is_open


def test_an_order_that_no_second_computation_has_ends_as_unverified(jobs: TransformJobs) -> None:
    reversed_ = "result = data.groupby('city', as_index=False).amount.sum().sort_values('amount')"
    query = "SELECT city, sum(amount) FROM data GROUP BY city"
    task = "total by city, largest first"
    result = jobs.transform(python(reversed_) + second(query), "DONE", data=SALES, task=task)
    assert [reason.code for reason in result.unverified_because] == ["not_checked"]
    assert "Nothing checks the order of the rows" in jobs.script.last()
    ordered = second(f"{query} ORDER BY sum(amount) DESC")
    differs = jobs.transform(python(reversed_) + second(query), "DONE" + ordered, "DONE", data=SALES, task=task)
    assert [reason.code for reason in differs.unverified_because] == ["own_check_failed"]
    right = reversed_.replace("'amount')", "'amount', ascending=False)")
    assert jobs.transform(python(right) + second(query), "DONE" + ordered, data=SALES, task=task).status == "done"


@pytest.mark.parametrize("rows", [3, 100_001])
def test_values_in_the_wrong_rows_differ_whatever_their_number(rows: int) -> None:
    table = pl.DataFrame(
        {"group": [f"g{n:06}" for n in range(rows)], "total": [float(n * 7 % 1009) for n in range(rows)]}
    )
    down = table.with_columns(pl.col("total").gather((pl.int_range(pl.len()) - 1) % pl.len()))
    alone = table.with_columns(pl.col("total").sort())
    swapped = pl.concat([table.head(1).with_columns(total=pl.lit(7.0)), table[1:2].with_columns(total=0.0), table[2:]])
    for wrong in (down, alone, swapped):
        if not wrong.equals(table):
            assert difference(table, wrong, "") == "other combinations of the values"
    assert difference(table, table.reverse(), "") is None
    assert difference(table, table.reverse(), "SELECT 1 ORDER BY 1") == "the rows are in another order"
    ids = table.select(id=pl.int_range(1_000_000, 1_000_000 + rows))
    assert difference(ids, ids.reverse(), "") is None, "numbers that six digits do not distinguish"
    gaps = table.with_columns(total=pl.when(pl.col("total") > 7).then("total"))
    moved = gaps.with_columns(pl.col("total").gather((pl.int_range(pl.len()) - 1) % pl.len()))
    assert difference(gaps, moved, "") == "other combinations of the values"
