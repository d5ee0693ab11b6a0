"""Self-checked answers: when what a model states of its result ends the work, and when it does not."""

from __future__ import annotations

import polars as pl
import pytest

from services.execution.transform.checks import holds_of
from services.execution.transform.effect import measure
from services.execution.transform.results import CodeRun, ResultTable
from services.execution.transform.self_checks import Judgement, judge, spoilt_results, stated_in
from shared.declarations.assertions import parse_assertion
from tests.services.execution.transform.support import TransformJobs, confirmed, python

SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
GOOD = "result = data.groupby('city', as_index=False)['amount'].sum()"
STATED = ("rows == distinct(city)", "sum(amount) unchanged", "sorted(city)")
INPUT = pl.DataFrame({"city": ["Berlin", "Paris", "Berlin"], "amount": [10, 20, 5]})
RESULT = pl.DataFrame({"city": ["Berlin", "Paris"], "amount": [15, 20]})
TOTAL = "import pandas as pd\nresult = pd.DataFrame({'total': [data.amount.sum()]})"
OF_ONE_ROW = ("rows == 1", "sum(total) == sum(amount)")
ONE_ROW = pl.DataFrame({"total": [35]})


def reply(code: str, *checks: str) -> str:
    return python(code) + "\n```checks\n" + "\n".join(checks) + "\n```"


def judged(after: pl.DataFrame, *stated: str, inputs: tuple[pl.DataFrame, ...] = (INPUT,)) -> Judgement:
    effect = measure(inputs[0], after, inputs[1:])
    outcome = "no_op" if effect.no_op else "result"
    return judge(stated, CodeRun("code", outcome, "", table=ResultTable(after), effect=effect), inputs)  # type: ignore[arg-type]


def test_checks_that_say_enough_and_hold_end_the_work_after_one_call(jobs: TransformJobs) -> None:
    result = jobs.transform(reply(TOTAL, *OF_ONE_ROW), data=SALES)
    assert result.status == "done"
    assert len(jobs.script.asked) == 1
    assert [(check.text, check.held) for check in result.checks if check.from_ == "model"] == [
        (s, True) for s in OF_ONE_ROW
    ]
    assert {check.held for check in result.checks if check.from_ == "assay"} == {True}
    assert (
        result.model_dump(mode="json")["checks"][0].items()
        >= {"text": OF_ONE_ROW[0], "held": True, "from": "model"}.items()
    )


def test_checks_alone_say_nothing_of_which_value_belongs_to_which_row(jobs: TransformJobs) -> None:
    swapped = GOOD + "\nresult['amount'] = result.amount.iloc[::-1].to_numpy()"
    wrong = jobs.transform(reply(swapped, *STATED), "DONE", data=SALES)
    assert [reason.code for reason in wrong.unverified_because] == ["not_checked"]
    assert "hold of wrong results as well (values in the wrong rows)" in jobs.script.last()
    second = "\n```sql check\nSELECT city, sum(amount) FROM data GROUP BY city ORDER BY city\n```"
    right = jobs.transform(reply(GOOD, *STATED) + second, data=SALES)
    assert right.status == "done"
    assert len(jobs.script.asked) == 1


@pytest.mark.parametrize(
    "after",
    [
        pl.DataFrame({"city": ["Berlin", "Paris"], "amount": [20, 15]}),
        pl.DataFrame({"city": ["Berlin", "Paris"], "amount": [15, 20]}),
        pl.DataFrame({"city": ["Paris", "Berlin"], "amount": [15, 20]}),
    ],
)
def test_of_several_rows_no_stated_check_proves_the_values(after: pl.DataFrame) -> None:
    stated = ("rows == distinct(city)", "unique(city)", "sum(amount) unchanged", "columns are city, amount")
    for more in ((), ("sorted(city)",), ("sorted(amount)",), ("sorted(amount desc)",)):
        assert not judged(after, *stated, *more).sufficient


@pytest.mark.parametrize(
    ("after", "stated", "open_"),
    [
        ({"total": [35]}, OF_ONE_ROW, ()),
        ({"total": [35], "n": [3]}, (*OF_ONE_ROW, "sum(n) == input"), ()),
        ({"total": [35], "n": [3]}, OF_ONE_ROW, ("another value of n",)),
        ({"total": [35], "best": ["Rome"]}, OF_ONE_ROW, ("another value of best",)),
        (
            {"total": [35]},
            ("rows == 1", "sum(total) == sum(amount) within 20%", "total < 60"),
            ("another value of total",),
        ),
        ({"total": [35]}, ("rows == 1", "between(total, 30, 40)"), ("another value of total",)),
    ],
)
def test_of_one_row_each_value_needs_a_check_of_its_own(
    after: dict[str, list[object]], stated: tuple[str, ...], open_: tuple[str, ...]
) -> None:
    judgement = judged(pl.DataFrame(after), *stated)
    assert judgement.missed == open_
    assert judgement.proven is (not open_)


def test_each_check_says_what_spoilt_results_did_to_it() -> None:
    checks = {check.text: check for check in judged(RESULT, *STATED).checks}
    assert {"the first half", "every row twice"} <= set(checks["rows == distinct(city)"].noticed)
    assert "other numbers" in checks["rows == distinct(city)"].missed
    assert "other numbers" in checks["sum(amount) unchanged"].noticed
    assert {*checks["sorted(city)"].noticed, *checks["sorted(city)"].missed} == set(dict(spoilt_results(RESULT)))
    assert checks["the result has rows"].noticed == checks["the result has rows"].missed == []
    assert judged(RESULT, *STATED, "rows == 3").checks[0].noticed == [], "nothing is tried when a check does not hold"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checks", "because"),
    [
        ((), "not_checked"),
        (("rows >= 1",), "own_checks_empty"),
        (("sorted(city)",), "not_checked"),
        ((*STATED, "rows >= 0"), "not_checked"),
        ((*STATED, "rows == 3"), "own_check_failed"),
        ((*STATED, "the sums are right"), "not_checked"),
        (("rows == 2", "unique(city)"), "not_checked"),
    ],
    ids=["none", "lazy", "order alone", "a trivial one", "a wrong one", "no check", "nothing about values"],
)
def test_otherwise_the_model_is_shown_the_result_and_asked_to_compute_it_again(
    jobs: TransformJobs, checks: tuple[str, ...], because: str
) -> None:
    result = jobs.transform(reply(GOOD, *checks), "DONE", data=SALES)
    assert result.status == "unverified"
    assert [reason.code for reason in result.unverified_because] == [because]
    assert len(jobs.script.asked) == 2
    asked_again = "answer with DONE and, below it, a block that starts with ```sql check" in jobs.script.last()
    assert asked_again is (because != "own_check_failed")


def test_what_the_checks_would_not_notice_is_named(jobs: TransformJobs) -> None:
    jobs.transform(reply(GOOD, "rows == 2", "unique(city)"), "DONE", data=SALES)
    assert "hold of wrong results as well (other numbers" in jobs.script.last()


def test_a_sign_against_a_proven_result_is_confirmed_by_done(jobs: TransformJobs) -> None:
    code = "result = data.assign(amount=data.amount.shift(1))"
    second = "\n```sql check\nSELECT city, lag(amount) OVER () FROM data\n```"
    result = jobs.transform(python(code) + second, "DONE", data=SALES)
    assert {check.text for check in result.checks if not check.held} == {"no value is missing where none was"}
    assert result.status == "done"
    assert len(jobs.script.asked) == 2
    assert "answer with the single word DONE" in jobs.script.last()


def test_a_check_of_the_models_that_does_not_hold_is_told(jobs: TransformJobs) -> None:
    wrong = "result = data.groupby('city', as_index=False)['amount'].max()"
    second = "\n```sql check\nSELECT city, sum(amount) FROM data GROUP BY city ORDER BY city\n```"
    result = jobs.transform(reply(wrong, *STATED), reply(GOOD, *STATED) + second, data=SALES)
    assert result.table is not None
    assert result.table.rows == [["Berlin", 15], ["Paris", 20]]
    assert len(jobs.script.asked) == 2
    assert "You stated a check that does not hold: sum(amount) unchanged" in jobs.script.last()
    assert "does not hold: rows" not in jobs.script.last()


@pytest.mark.parametrize(("confirm", "calls"), [("always", 2), ("auto", 1), ("never", 1)])
def test_confirm_says_whether_checks_of_the_model_count(jobs: TransformJobs, confirm: str, calls: int) -> None:
    jobs.transform(reply(TOTAL, *OF_ONE_ROW), "DONE", data=SALES, confirm=confirm)
    assert len(jobs.script.asked) == calls
    asked_for = "```checks" in jobs.script.asked[0].messages[-1].content
    assert asked_for is (confirm == "auto")


@pytest.mark.slow(seconds=1)
def test_a_caller_who_asserts_or_masks_gets_no_checks_of_the_model(jobs: TransformJobs) -> None:
    asserted = jobs.transform(reply(GOOD, "rows == 9"), data=SALES, assertions=["rows == 2"])
    assert [(check.text, check.from_) for check in asserted.checks] == [("rows == 2", "caller")]
    assert "```checks" not in jobs.script.said()
    jobs.transform(reply(GOOD, *STATED), "DONE", data=SALES, preview={"mask": ["city"]})
    assert len(jobs.script.asked) == 2
    assert "```checks" not in jobs.script.asked[0].messages[-1].content


def test_there_are_ten_spoilt_results() -> None:
    assert len(dict(spoilt_results(RESULT))) == 10
    assert "in reverse" not in dict(spoilt_results(RESULT.head(1)))


@pytest.mark.parametrize(
    "text",
    [
        "rows == 2",
        "rows < input",
        "rows == distinct(city)",
        "rows == count(amount > 5)",
        "rows unchanged",
        "columns are city, amount",
        "columns contain amount",
        "unique(city)",
        "no_nulls(city, amount)",
        "sum(amount) unchanged",
        "sum(amount) == sum(amount)",
        "type(amount) is int",
        "sorted(amount)",
        "sorted(amount desc)",
    ],
)
def test_every_form_fails_on_one_of_them_at_least(text: str) -> None:
    result = {"rows unchanged": INPUT, "sorted(amount desc)": RESULT.reverse()}.get(text, RESULT)
    check = parse_assertion(text)
    assert holds_of(check, INPUT, result)[0]
    assert [name for name, frame in spoilt_results(result) if not holds_of(check, INPUT, frame)[0]]


@pytest.mark.parametrize("text", ["rows >= 0", "rows < 1000000", "rows != 77", "rows <= 99"])
def test_a_check_that_holds_of_all_of_them_says_nothing(text: str) -> None:
    assert judged(ONE_ROW, *OF_ONE_ROW).sufficient
    assert not judged(ONE_ROW, *OF_ONE_ROW, text).sufficient


@pytest.mark.parametrize(
    ("after", "inputs", "broken"),
    [
        (INPUT, (INPUT,), "the result differs from the input"),
        (RESULT.clear(), (INPUT,), "the result has rows"),
        (RESULT.with_columns(note=pl.lit(None, pl.String)), (INPUT,), "every column has a value"),
        (pl.DataFrame({"city": ["Berlin", None], "amount": [15, 20]}), (INPUT,), "no value is missing where none was"),
        (pl.concat([INPUT, INPUT, INPUT]), (INPUT, RESULT), "a join gives no more rows than its largest input"),
    ],
)
def test_signs_of_wrong_code_are_checked_whatever_the_model_states(
    after: pl.DataFrame, inputs: tuple[pl.DataFrame, ...], broken: str
) -> None:
    judgement = judged(after, f"rows == {after.height}", inputs=inputs)
    assert broken in [check.text for check in judgement.checks if check.from_ == "assay" and not check.held]
    assert not judgement.sufficient


def test_a_result_of_one_row_needs_its_number_stated_otherwise() -> None:
    days = pl.DataFrame({"days": [2]})
    assert not judged(days, "rows == 1", "columns are days").sufficient
    assert judged(days, "rows == 1", "sum(days) == count(amount >= 10)").sufficient


def test_checks_are_read_from_their_blocks_only() -> None:
    text = "rows == 1\n```python\nrows = 3\n```\n```checks\n- rows == 2\n\nunique(city)\n```\n"
    assert stated_in(text) == ["rows == 2", "unique(city)"]
    assert stated_in("```checks\n" + "rows == 2\n" * 500 + "```") == ["rows == 2"] * 21


def test_only_what_can_be_checked_can_fail() -> None:
    other = pl.DataFrame({"id": [1, 2]})
    stated = (
        "sum(amount) == sum(amount)",
        "rows == distinct(city)",
        "the sums are right",
        "references(city, towns.city)",
    )
    assert judged(RESULT, *stated, inputs=(other, INPUT)).failing == (), "the model may mean another data set"
    assert judged(RESULT, "rows == 3", "columns contain cost").failing == ("rows == 3", "columns contain cost")


@pytest.mark.parametrize(
    ("stated", "empty"),
    [
        (("rows >= 1",), True),
        (("rows >= 0", "rows < 1000000"), True),
        (("rows >= 1", "sorted(city)"), False),
        (("rows == 2",), False),
        (("columns are city, amount",), False),
        ((), False),
    ],
)
def test_checks_that_hold_of_wrong_results_too_are_empty(stated: tuple[str, ...], empty: bool) -> None:
    assert judged(RESULT, *stated).empty is empty


def test_of_a_single_row_a_check_that_there_are_rows_is_empty_too() -> None:
    days = pl.DataFrame({"days": [2]})
    assert judged(days, "rows >= 1", "rows < 1000000").empty
    assert not judged(days, "rows == 1").empty


def test_large_tables_are_not_spoilt_ten_times() -> None:
    large = pl.DataFrame({"city": ["a"] * 1_100_000, "amount": [1] * 1_100_000})
    judgement = judged(RESULT, *STATED, inputs=(large,))
    assert not judgement.sufficient
    assert "sum(amount) unchanged" in judgement.failing, "what is stated of them is checked all the same"
    assert [check.noticed + check.missed for check in judgement.checks if check.noticed or check.missed] == []


WRONG = "result = data.groupby('city', as_index=False).amount.mean()"


def test_done_over_a_check_that_does_not_hold_is_unverified(jobs: TransformJobs) -> None:
    result = jobs.transform(reply(WRONG, "rows == distinct(city)", "sum(amount) == sum(amount)"), "DONE", data=SALES)
    assert result.status == "unverified"
    assert [reason.code for reason in result.unverified_because] == ["own_check_failed"]
    assert "sum(amount) == sum(amount)" in result.unverified_because[0].message
    assert [(check.text, check.held) for check in result.checks if check.from_ == "model"][1] == (
        "sum(amount) == sum(amount)",
        False,
    )
    assert any("sum(amount) == sum(amount)" in warning for warning in jobs.report.warnings)


@pytest.mark.parametrize("confirm", ["auto", "always", "never"])
def test_it_counts_however_the_result_is_confirmed(jobs: TransformJobs, confirm: str) -> None:
    result = jobs.transform(reply(WRONG, "sum(amount) == sum(amount)"), "DONE", data=SALES, confirm=confirm)
    assert result.status == "unverified"
    assert "You stated a check that does not hold: sum(amount) == sum(amount)" in jobs.script.last()


def test_code_without_checks_is_held_to_those_stated_before(jobs: TransformJobs) -> None:
    stated = "sum(amount) == sum(amount)"
    done = confirmed("SELECT city, sum(amount) FROM data GROUP BY city")
    fixed = jobs.transform(reply(WRONG, stated), python(GOOD), done, data=SALES)
    assert fixed.status == "done"
    held = [(check.text, check.held) for check in fixed.checks if check.from_ == "model"]
    assert held == [("the same rows in DuckDB SQL", True), (stated, True)]
    largest = python(WRONG.replace("mean", "max"))
    assert jobs.transform(reply(WRONG, stated), largest, "DONE", data=SALES).status == "unverified"


def test_a_check_is_not_dropped_by_sending_the_same_code_without_it(jobs: TransformJobs) -> None:
    again = reply(WRONG, "rows == distinct(city)")
    result = jobs.transform(reply(WRONG, "sum(amount) == sum(amount)"), again, "DONE", data=SALES)
    assert result.status == "unverified"


def test_assertions_in_the_code_fail_as_errors(jobs: TransformJobs) -> None:
    wrong = WRONG + "\nassert result.amount.sum() == data.amount.sum()"
    done = confirmed("SELECT city, sum(amount) FROM data GROUP BY city")
    result = jobs.transform(python(wrong), python(GOOD + "\nassert True"), done, data=SALES)
    assert [each.outcome for each in result.iterations] == ["error", "result"]
    assert result.status == "done"
