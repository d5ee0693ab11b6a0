"""A result is done only when it came from the data: in every language, and without false alarms."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Flag
from typing import Any

import polars as pl
import pytest
import yaml

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.transform.dataset import DataRead, LoadedTable
from services.execution.transform.origin.trace import Trace
from services.execution.transform.preview import summary_of
from services.execution.transform.runner import CodeRunner, TransformLimits
from shared.contracts.transform import TransformInput
from shared.languages import TableReader
from shared.loop import Budget
from tests.services.execution.transform.support import TransformJobs, confirmed, python
from tests.support.languages import skip_unless_installed

GDP = "country,gdp\nChina,14\nGermany,3\n"
SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\nOslo,7\nRome,1\nParis,4\n"
CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("origin_cases.yaml").read_text("utf-8")
)
CITIES = [
    {"name": "data", "csv": SALES},
    {"name": "cities", "csv": "city,country\nBerlin,DE\nParis,FR\nOslo,NO\nRome,IT\n"},
]
INVENTED = """\
import pandas as pd
data = pd.DataFrame({'country': ['Utopia', 'Ruritania'], 'gdp': [5, 7]})
result = data.sort_values('gdp', ascending=False)"""


def codes(result: object) -> list[str]:
    return [reason.code for reason in result.unverified_because]  # type: ignore[attr-defined]


def test_invented_rows_are_reported_to_the_model_and_end_unverified(jobs: TransformJobs) -> None:
    result = jobs.transform(python(INVENTED), "DONE", data=GDP, task="the countries by gdp")
    assert result.status == "unverified"
    assert codes(result) == ["input_overwritten"]
    assert len(jobs.script.asked) == 2, "the feedback comes with the result: no call of its own"
    assert "assigns to data before it reads the data set data" in jobs.script.last()
    assert result.explained == 0.0
    assert result.lineage == {"country": "literal", "gdp": "literal"}
    assert (result.inputs[0].read, result.inputs[0].overwritten) == (False, True)
    assert any("unverified" in warning for warning in jobs.report.warnings)


def test_a_model_that_corrects_itself_is_done(jobs: TransformJobs) -> None:
    right = "result = data.sort_values('gdp')"
    result = jobs.transform(python(INVENTED), python(right), confirmed("FROM data ORDER BY gdp"), data=GDP)
    assert result.status == "done"
    assert codes(result) == []
    assert (result.inputs[0].read, result.inputs[0].overwritten) == (True, False)
    attempts = [[reason.code for reason in each.unverified_because] for each in result.iterations]
    assert attempts == [["input_overwritten"], []]


def test_a_result_that_changes_nothing_takes_the_place_of_an_invented_one(jobs: TransformJobs) -> None:
    same = "result = data.sort_values('gdp', ascending=False)"
    result = jobs.transform(python(INVENTED), python(same), python(same), data=GDP, confirm="always")
    assert result.status == "done"
    assert result.table is not None
    assert result.table.rows == [["China", 14], ["Germany", 3]]


def test_a_spent_budget_does_not_hide_what_speaks_against_the_result(jobs: TransformJobs) -> None:
    result = jobs.transform(python(INVENTED), data=GDP, max_iterations=1)
    assert result.status == "unverified"
    assert codes(result) == ["input_overwritten"]


def test_the_callers_code_gets_a_warning(jobs: TransformJobs) -> None:
    result = jobs.transform(data=GDP, code=INVENTED)
    assert result.status == "done"
    assert codes(result) == []
    assert any("before it reads the data set data" in warning for warning in jobs.report.warnings)


@pytest.mark.parametrize("case", CASES["lies"], ids=lambda case: case["name"])
def test_values_that_do_not_come_from_the_data_are_never_done(jobs: TransformJobs, case: dict[str, Any]) -> None:
    language, code = case["language"], case["code"]
    skip_unless_installed(jobs.sandbox, language)
    result = jobs.transform(f"```{language}\n{code}\n```", "DONE", data=SALES, language=language, task="sum by city")
    assert result.status == "unverified", (result.lineage, result.explained)
    assert set(codes(result)) <= {"input_not_read", "input_overwritten", "invented_values", "origin_unknown"}


@pytest.mark.parametrize("case", CASES["honest"], ids=lambda case: case["name"])
def test_honest_code_is_done(jobs: TransformJobs, case: dict[str, Any]) -> None:
    language, code = case["language"], case["code"]
    skip_unless_installed(jobs.sandbox, language)
    result = jobs.transform(f"```{language}\n{code}\n```", "DONE", data=SALES, language=language, confirm="always")
    assert codes(result) == [], (result.lineage, result.explained)
    assert result.status == "done"


@pytest.mark.parametrize("case", CASES["lineage"], ids=lambda case: case["name"])
def test_the_lineage_names_the_columns_that_values_come_from(jobs: TransformJobs, case: dict[str, Any]) -> None:
    language, code = case["language"], case["code"]
    skip_unless_installed(jobs.sandbox, language)
    result = jobs.transform(f"```{language}\n{code}\n```", "DONE", data=SALES, language=language)
    assert result.lineage == case["lineage"]
    assert result.effect is not None
    if case["name"] == "sum":
        assert result.effect.lineage == "city: from data.city; amount: from data.amount; region: literal"
        assert result.explained == pytest.approx(2 / 3, abs=0.001)


def test_a_data_set_that_is_not_joined_is_named(jobs: TransformJobs) -> None:
    code = "result = data.groupby('city', as_index=False).amount.sum()"
    result = jobs.transform(python(code), "DONE", data=CITIES, task="sum by country")
    assert codes(result) == ["input_not_read"]
    assert "cities" in result.unverified_because[0].message
    assert [seen.read for seen in result.inputs] == [True, False]


def test_a_joined_data_set_is_in_the_lineage(jobs: TransformJobs) -> None:
    code = "result = data.merge(cities, on='city').groupby('country', as_index=False).amount.sum()"
    second = "SELECT country, sum(amount) FROM data JOIN cities USING (city) GROUP BY country"
    result = jobs.transform(python(code), confirmed(second), data=CITIES, task="sum by country")
    assert result.status == "done"
    assert result.lineage == {"country": ["cities.country"], "amount": ["data.amount"]}


def test_a_plot_of_invented_values_is_unverified(jobs: TransformJobs) -> None:
    code = "import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [3, 9])"
    result = jobs.transform(python(code), "DONE", data=SALES, output="plot")
    assert codes(result) == ["input_not_read"]
    drawn = "import matplotlib.pyplot as plt\nplt.bar(data.city, data.amount)"
    assert jobs.transform(python(drawn), "DONE", data=SALES, output="plot").status == "done"


class InJavascript(TransformInput):
    """A transform in a language that has none yet: the origin is traced the same way."""

    @property
    def reader(self) -> TableReader:
        return TableReader("javascript", prompt="")


JAVASCRIPT = {
    "const rows = [{city: 'Bonn', amount: 3}]; rows": ["input_not_read"],
    "data = [{city: 'Bonn', amount: 3}, {city: 'Kiel', amount: 9}]; data": ["input_overwritten"],
    "data.length; [{city: 'Bonn', amount: 3}, {city: 'Kiel', amount: 9}]": ["invented_values"],
    "data.filter(({amount}) => amount > 4).map(({city, amount: n}) => ({city, twice: 2 * n, source: 'web'}))": [],
    "const [first, ...rest] = data; rest": [],
    "data = data.slice(1); const s = {}; for (const {city, amount} of data) s[city] = (s[city] ?? 0) + amount; "
    "Object.entries(s).map(([city, total]) => ({city, total}))": [],
}


@pytest.mark.parametrize("code", JAVASCRIPT)
def test_the_origin_is_traced_in_javascript_too(sandbox: Sandbox, tmp_path: Path, code: str) -> None:
    skip_unless_installed(sandbox, "javascript")
    frame = pl.read_csv(SALES.encode())
    frame.write_ipc(tmp_path / "data.arrow", compression="uncompressed")
    types = {"city": "string", "amount": "int"}
    loaded = LoadedTable(tmp_path / "data.arrow", "")
    data = DataRead("data", lambda: loaded, types, summary_of(frame, types, 5))  # type: ignore[arg-type]
    request = InJavascript.model_construct(task="by city", language="javascript", data=[])
    runner = CodeRunner(sandbox, request, [data], TransformLimits(), Budget(), Flag())
    run = runner.run(code)
    assert run.table is not None, run.message
    trace = Trace(runner, run, tmp_path)
    assert [reason.code for reason in trace.origin.reasons] == JAVASCRIPT[code]
    if "twice" in code:
        assert trace.lineage() == {"city": ["data.city"], "twice": ["data.amount"], "source": "literal"}
