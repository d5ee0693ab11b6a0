"""Each kind of value, from each language to each other one and back: the same, or the loss is said."""

from __future__ import annotations

import pyarrow
import pyarrow.ipc
import pytest
from pydantic import JsonValue

from services.execution.sandbox.run import KernelError, Value
from shared.languages import LANGUAGES
from tests.services.execution.languages.conftest import Open
from tests.services.execution.languages.values import CASES, Case


def table_of(value: Value) -> pyarrow.Table:
    assert value.table is not None
    with pyarrow.memory_map(str(value.table)) as source:
        return pyarrow.ipc.open_file(source).read_all()


def alike(first: Value, second: Value) -> bool:
    """The same value; of tables the same cells, however wide their numbers are."""
    if first.kind != second.kind:
        return False
    if first.kind != "table":
        return first.exact == second.exact
    one, other = table_of(first), table_of(second)
    return bool(one.column_names == other.column_names and one.to_pylist() == other.to_pylist())


def made(kernel: Open, case: Case) -> Value:
    session = kernel(case.source)
    outcome = session.execute(case.code)
    assert outcome.error is None, outcome.error
    return session.get("v")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_comes_back_as_it_was_or_its_loss_is_said(kernel: Open, case: Case) -> None:
    value = made(kernel, case)
    for target in LANGUAGES:
        if target == case.source:
            continue
        session = kernel(target)
        if target in case.refused:
            with pytest.raises(KernelError):
                session.set("w", value)
            continue
        said = session.set("w", value)
        if (expected := case.lost.get(target)) is not None:
            assert expected in "; ".join(said), (target, said)
            continue
        assert said == (), target
        kernel(case.source).set("back", session.get("w"))
        assert alike(kernel(case.source).get("back"), value), (target, session.get("w"))


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_case_of_a_language_stays_itself_there(kernel: Open, language: str) -> None:
    for case in CASES:
        if case.source == language and language not in case.refused and language not in case.lost:
            value = made(kernel, case)
            said = kernel(language).set("same", value)
            if not said:
                assert alike(kernel(language).get("same"), value), case.name


@pytest.mark.parametrize("language", ["r", "javascript"])
def test_tables_reach_sql_and_come_back_as_tables(kernel: Open, language: str) -> None:
    makes = {
        "r": "rows <- data.frame(n = 1:3, s = c('a', 'b', NA))",
        "javascript": "var rows = [{n: 1, s: 'a'}, {n: 2, s: 'b'}, {n: 3, s: null}]",
    }
    kernel(language).execute(makes[language])
    kernel("sql").set("rows", kernel(language).get("rows"))
    outcome = kernel("sql").execute(
        "create or replace table sums as select sum(n) as total, count(s) as texts from rows"
    )
    assert outcome.error is None
    kernel(language).set("sums", kernel("sql").get("sums"))
    reads = {"r": "paste(sums$total, sums$texts)", "javascript": "`${sums[0].total} ${sums[0].texts}`"}
    assert "6 2" in kernel(language).evaluate(reads[language]).text


def test_javascript_gets_dates_bytes_and_large_numbers_as_its_own(kernel: Open) -> None:
    cells = "{'d': [datetime.date(2024, 1, 2)], 'y': [b'ab'], 'n': [2**60]}"
    code = f"import datetime, pandas as pd\nt = pd.DataFrame({cells})"
    kernel("python").execute(code)
    kernel("javascript").set("t", kernel("python").get("t"))
    text = "[t[0].d instanceof Date, t[0].y instanceof Uint8Array, typeof t[0].n].join()"
    assert kernel("javascript").evaluate(text).text == "'true,true,bigint'"


def test_a_date_that_javascript_changed_is_its_own_from_then_on(kernel: Open) -> None:
    kernel("python").execute("import datetime\nday = datetime.date(2024, 2, 29)")
    kernel("javascript").set("day", kernel("python").get("day"))
    kernel("javascript").execute("day.setUTCDate(1)")
    assert kernel("javascript").get("day").exact == {"$": "datetime", "v": "2024-02-01T00:00:00+00:00", "zone": "UTC"}


def test_a_callers_own_json_is_taken_as_it_stands(kernel: Open) -> None:
    given: dict[str, JsonValue] = {"$": "bytes", "v": [1, 2.5, None], "n": 2**70}
    for language in LANGUAGES:
        kernel(language).set("given", given)
        assert kernel(language).get("given").json == (given if language != "r" else {**given, "n": float(2**70)})
