"""Lines that cannot run are corrected before the code runs, and everything else stays as it is."""

from __future__ import annotations

import pytest

from services.execution.transform.repairs import SERIES, repaired
from tests.services.execution.transform.support import TransformJobs, python

SALES = "city,amount\nOslo,3\nRome,4\nOslo,5\n"


@pytest.mark.parametrize(
    ("language", "code", "wanted"),
    [
        ("python", "result = data\nrows == distinct(city)", "result = data"),
        ("python", "result = data\nsum(total) == sum(amount)\nsorted(total desc)", "result = data"),
        ("python", "columns are a, b\nresult = data", "result = data"),
        ("python", "unique(city)\nno_nulls(city)\nresult = data", "result = data"),
        ("sql", "rows == 3\nSELECT * FROM data", "SELECT * FROM data"),
        ("python", "data = pd.read_csv('data.csv')\nresult = data", "result = data"),
        ("python", "orders = pd.read_excel('x/Orders.xlsx', sheet_name=0)  # load\nresult = orders", "result = orders"),
        ("python", "df = pd.read_csv('orders.csv')\nresult = df", "df = orders\nresult = df"),
        ("python", "df = pl.scan_parquet('orders.parquet')\nresult = df", "df = orders\nresult = df"),
        ("r", "orders <- read.csv('orders.csv')\nresult <- orders", "result <- orders"),
        ("r", 'd <- readr::read_csv("orders.csv")\nresult <- d', "d <- orders\nresult <- d"),
        ("python", "result = pd.concat([data, data])", "import pandas as pd\nresult = pd.concat([data, data])"),
        (
            "python",
            "result = np.mean(pl.Series([1]))",
            "import numpy as np\nimport polars as pl\nresult = np.mean(pl.Series([1]))",
        ),
        ("python", "d.agg(yield=('yield', 'mean'))", "d.agg(**{'yield': ('yield', 'mean')})"),
        ("python", "d.agg(a=('b', 'sum'), class=('c', 'max'))", "d.agg(a=('b', 'sum'), **{'class': ('c', 'max')})"),
        ("python", "d = data.head(2)\nd = d.tail(1)", "d = data.head(2)\nd = d.tail(1)\nresult = d"),
        ("python", "d: object = data\n", "d: object = data\nresult = d"),
        ("python", "d = data\nprint(d)", "d = data\nprint(d)\nresult = d"),
    ],
)
def test_what_cannot_run_is_corrected(language: str, code: str, wanted: str) -> None:
    fixed = repaired(code, language, ["data", "orders"])
    assert fixed.code == wanted
    assert fixed.notes


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "result = data[data['a'] > 3]"),
        ("python", "rows = len(data)\nresult = data.head(rows)"),
        ("python", "total = sum(data['amount'])\nresult = total"),
        ("python", "result = sorted(data)"),
        ("python", "import pandas as pd\nresult = pd.concat([data])"),
        ("python", "pd = 3\nresult = data.pd.x"),
        ("python", "for n in x:\n    rows == 3"),
        ("python", "import pandas as pd\nresult = pd.read_csv('rates.csv')"),
        ("python", "result = 'read_csv(\"data.csv\")'"),
        ("python", "x = f(lambda: (1, 2))\nassert (x, 1)"),
        ("python", "result = data\nd = 3"),
        ("python", "def f(x):\n    result = x\n    return result\nd = f(data)"),
        ("python", "d = data\nd"),
        ("python", "d = data\nprint(d.shape)"),
        ("python", "d['a'] = 3"),
        ("python", "print(data)"),
        ("python", "d = ("),
        ("r", "unique(data)\nsum(x) == sum(y)"),
        ("r", "d <- data"),
        ("sql", "SELECT unique(a) FROM data"),
    ],
)
def test_what_can_run_stays(language: str, code: str) -> None:
    assert repaired(code, language, ["data", "orders"]).code == code


def test_code_for_a_plot_needs_no_table() -> None:
    assert repaired("ax = data.plot()", "python", ["data"], table=False).code == "ax = data.plot()"


@pytest.mark.parametrize(
    ("reader", "code", "rows"),
    [
        ("pandas", "result = data.groupby('city')['amount'].sum()", [["Oslo", 8], ["Rome", 4]]),
        ("pandas", "data['city'].value_counts()", [["Oslo", 2], ["Rome", 1]]),
        ("pandas", "d = data['amount'] * 2\nd[d > 6]", [[8], [10]]),
        ("polars", "data['amount'].unique().sort()", [[3], [4], [5]]),
        ("pandas", "d = data.groupby('city')['amount'].max()", [["Oslo", 5], ["Rome", 4]]),
    ],
)
def test_a_series_becomes_a_table(jobs: TransformJobs, reader: str, code: str, rows: list[list[object]]) -> None:
    result = jobs.transform(python(code), "DONE", data=SALES, dataframe=reader)
    assert result.table is not None
    assert result.table.rows == rows
    assert [each.repaired[-1] for each in result.iterations[:1]] == [SERIES]


def test_code_that_gave_a_series_is_recognized_again(jobs: TransformJobs) -> None:
    code = python("result = data.groupby('city')['amount'].sum()")
    result = jobs.transform(code, code, data=SALES)
    assert len(jobs.script.asked) == 2
    assert [each.outcome for each in result.iterations] == ["result", "result"]


def test_a_series_that_makes_no_table_stays_one(jobs: TransformJobs) -> None:
    named_twice = "result = data.groupby('city')['city'].count()"
    result = jobs.transform(python(named_twice), python("result = data.head(1)"), "DONE", data=SALES)
    assert result.iterations[0].outcome == "not_a_table"
    assert not result.iterations[0].repaired


def test_checks_in_the_code_are_verified_and_the_repair_is_noted(jobs: TransformJobs) -> None:
    code = "result = data.groupby('city', as_index=False).agg(total=('amount', 'sum')).sort_values('city')"
    checks = "rows == distinct(city)\nsum(total) == sum(amount)\nunique(city)\nsorted(city)"
    again = "\n```sql check\nSELECT city, sum(amount) AS total FROM data GROUP BY city ORDER BY city\n```\n"
    result = jobs.transform(python(f"{code}\n{checks}") + again, data=SALES, task="total by city")
    assert result.status == "done"
    assert len(jobs.script.asked) == 1
    stated = {*checks.split("\n"), "the same rows in DuckDB SQL"}
    assert {each.text for each in result.checks if each.from_ == "model"} == stated
    assert result.iterations[0].repaired == ["checks in the code were taken out of it"]
    assert result.code == code


def test_a_loaded_data_set_is_not_read_from_a_file(jobs: TransformJobs) -> None:
    summed = "result = data.groupby('city', as_index=False)['amount'].sum()"
    code = f"import pandas as pd\ndata = pd.read_csv('data.csv')\n{summed}"
    result = jobs.transform(python(code), "DONE", data=SALES)
    assert result.table is not None
    assert result.table.rows == [["Oslo", 8], ["Rome", 4]]
    assert result.iterations[0].repaired
