"""A conversation continues from its last result, from any iteration, or with the caller's own code."""

from __future__ import annotations

import pytest

from services.execution.transform.runner import TransformLimits
from shared.contracts.execute import Limits
from shared.errors import InvalidRequest, SchemaDrift, UserCodeFailed
from tests.services.execution.transform.support import TransformJobs, python

SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
SUM = "result = data.groupby('city', as_index=False)['amount'].sum()"


@pytest.mark.slow(seconds=1)
def test_a_follow_up_starts_from_the_previous_result(jobs: TransformJobs) -> None:
    jobs.keep("one", jobs.transform(python(SUM), "DONE", data=SALES))
    result = jobs.transform(python("result = data[data.amount > 15]"), "DONE", data=SALES)
    assert result.table is not None
    assert result.table.rows == [["Paris", 20]]
    assert result.continues == "one"
    assert "result of the previous task" in jobs.script.said()
    original = jobs.transform(python("result = data[data.amount > 5]"), "DONE", data=SALES, base="original")
    assert original.table is not None
    assert original.table.row_count == 2
    assert original.continues is None


@pytest.mark.slow(seconds=1)
def test_a_question_in_between_keeps_the_result_that_it_was_asked_about(jobs: TransformJobs) -> None:
    jobs.keep("one", jobs.transform(python(SUM), "DONE", data=SALES))
    jobs.keep("two", jobs.transform("Which?", "Which city?", data=SALES))
    result = jobs.transform(python("result = data.head(1)"), "DONE", data=SALES)
    assert result.continues == "one"
    assert result.table is not None
    assert result.table.rows == [["Berlin", 15]]


@pytest.mark.slow(seconds=1)
def test_any_iteration_can_be_branched_from(jobs: TransformJobs) -> None:
    replies = (python("result = data.head(1)"), python("result = data.head(2)"), "DONE")
    jobs.keep("one", jobs.transform(*replies, data=SALES), language="python", dataframe="pandas")
    branch = {"job_id": "one", "iteration": 1}
    result = jobs.transform(python("result = data.assign(n=1)"), "DONE", data=SALES, branch=branch)
    assert result.table is not None
    assert result.table.rows == [["Berlin", 10, 1]]
    assert "data.head(1)" in jobs.script.said()
    with pytest.raises(InvalidRequest, match="iteration 7"):
        jobs.transform(python(SUM), data=SALES, branch={"job_id": "one", "iteration": 7})
    with pytest.raises(InvalidRequest, match="no finished transform"):
        jobs.transform(python(SUM), data=SALES, branch={"job_id": "another"})


@pytest.mark.slow(seconds=1)
def test_saved_code_runs_on_new_data_without_a_model_and_reports_drift(jobs: TransformJobs) -> None:
    jobs.keep("one", jobs.transform(python(SUM), "DONE", data=SALES))
    result = jobs.transform(data="city,amount,extra\nRome,1.5,x\nRome,2.5,y\n", code=SUM)
    assert result.status == "done"
    assert result.table is not None
    assert result.table.rows == [["Rome", 4.0]]
    assert jobs.script.asked == []
    assert [(one.column, one.change) for one in result.drift] == [("amount", "type"), ("extra", "new")]
    expects = {"data": [{"name": "city", "type": "string"}, {"name": "gone"}]}
    result = jobs.transform(data=SALES, code=SUM, expects=expects)
    assert [(one.column, one.change) for one in result.drift] == [("gone", "missing"), ("amount", "new")]


@pytest.mark.slow
def test_columns_that_changed_end_the_job_before_the_code_runs_and_say_what_they_became(jobs: TransformJobs) -> None:
    expects = {"data": [{"name": "city", "type": "string"}, {"name": "amount", "type": "int"}]}
    renamed = "city_name,amount\nRome,1\n"
    with pytest.raises(SchemaDrift) as failed:
        jobs.transform(data=renamed, code="raise SystemExit(1)", expects=expects, on_drift="fail")
    told = str(failed.value)
    assert "no column 'city' any more, probably renamed to 'city_name'" in told
    assert "data has the columns city_name string, amount int" in told
    with pytest.raises(UserCodeFailed, match="probably renamed to 'city_name'"):
        jobs.transform(data=renamed, code=SUM, expects=expects)
    with pytest.raises(SchemaDrift, match=r"data.amount is float, it was int"):
        jobs.transform(data="city,amount\nRome,1.5\n", code=SUM, expects=expects, on_drift="fail")
    wider = jobs.transform(data="city,amount,extra\nRome,1,x\n", code=SUM, expects=expects, on_drift="fail")
    assert [(one.column, one.change) for one in wider.drift] == [("extra", "new")]


@pytest.mark.slow(seconds=1)
def test_hand_edited_code_is_continued_from(jobs: TransformJobs) -> None:
    jobs.keep("one", jobs.transform(python(SUM), "DONE", data=SALES))
    jobs.keep("two", jobs.transform(data=SALES, code="result = data.tail(1)"))
    result = jobs.transform(python("result = data.assign(n=1)"), "DONE", data=SALES)
    assert result.table is not None
    assert result.table.rows == [["Berlin", 5, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "assertions", "words"),
    [
        ("result = data['x']", [], "KeyError"),
        ("import time; time.sleep(99)", [], "longer than 1 seconds"),
        ("result = 5", [], "class int"),
        ("pass", [], "gave no table"),
        ("result = data", ["rows == 9"], "rows == 9"),
    ],
)
def test_own_code_that_fails_fails_the_job(jobs: TransformJobs, code: str, assertions: list[str], words: str) -> None:
    if "sleep" in code:
        jobs.limits = TransformLimits(code=Limits(wall_seconds=1))
    with pytest.raises(UserCodeFailed, match=words) as failed:
        jobs.transform(data=SALES, code=code, assertions=assertions)
    assert failed.value.code == "user_code_failed"
    assert jobs.script.asked == []
