"""The loop of the deterministic strategy, branch by branch."""

from __future__ import annotations

import pytest

from shared.errors import BudgetSpentError, JobCancelled, ProvidersFailed
from shared.llm.chat import ChatReply, Finish
from tests.services.execution.transform.support import TransformJobs, confirmed, cut, python

SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
GOOD = python("result = data.groupby('city', as_index=False)['amount'].sum()")
DONE = confirmed("SELECT city, sum(amount) FROM data GROUP BY city")
NO_OP = python("result = data")
BAD = python("result = data['nothing']")


def outcomes(jobs: TransformJobs) -> list[str]:
    return [str(turn["outcome"]["outcome"]) for turn in jobs.report.of("turn_taken")]  # type: ignore[index, call-overload]


def test_good_code_and_done_give_a_table(jobs: TransformJobs) -> None:
    result = jobs.transform("Summing.\n" + GOOD, DONE, data=SALES)
    assert result.status == "done"
    assert result.table is not None
    assert [(column.name, column.type) for column in result.table.columns] == [("city", "string"), ("amount", "int")]
    assert result.table.rows == [["Berlin", 15], ["Paris", 20]]
    assert [one.outcome for one in result.iterations] == ["result"]
    assert result.explanation == "Summing."
    assert result.effect is not None
    assert result.effect.rows == {"before": 3, "after": 2}
    assert result.table.file_id is not None
    assert outcomes(jobs) == ["result", "done"]
    assert len(jobs.script.asked) == 2


def test_an_error_is_shown_and_repaired(jobs: TransformJobs) -> None:
    result = jobs.transform(BAD, GOOD, "DONE", data=SALES)
    assert [one.outcome for one in result.iterations] == ["error", "result"]
    assert "KeyError" in jobs.script.asked[1].messages[-1].content


def test_every_attempt_shows_what_it_came_to(jobs: TransformJobs) -> None:
    wrong = python("result = data[['city']]")
    result = jobs.transform(BAD, wrong, GOOD, "DONE", data=SALES, assertions=["rows == 2"])
    failed, short, good = result.iterations
    assert (failed.effect, failed.table) == (None, None)
    assert short.table is not None
    assert short.table.rows == [["Berlin"], ["Paris"], ["Berlin"]]
    assert [(each.text, each.holds) for each in short.assertions] == [("rows == 2", False)]
    assert good.effect is not None
    assert good.effect.rows == {"before": 3, "after": 2}
    told = jobs.report.of("turn_taken")[1]["outcome"]
    assert told["table"]["rows"][0] == ["Berlin"]  # type: ignore[index, call-overload]


def test_a_long_table_is_not_among_the_attempts(jobs: TransformJobs) -> None:
    wide = python("result = data.assign(**{f'c{n}': 'x' * 100 for n in range(90)})")
    result = jobs.transform(wide, "DONE", data=SALES)
    assert result.iterations[0].table is None
    assert result.iterations[0].effect is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [BAD, python("result = 3"), "DONE", python("data.iloc[0:0]['x']"), cut("```python\nresult = da")],
)
def test_the_cap_holds_on_every_branch_that_gives_no_result(jobs: TransformJobs, reply: str) -> None:
    with pytest.raises(BudgetSpentError) as spent:
        jobs.transform(*[reply] * 20, data=SALES, max_iterations=4)
    assert len(jobs.script.asked) == 4
    iterations = spent.value.extra["iterations"]
    assert isinstance(iterations, list)
    assert len(iterations) == 4


@pytest.mark.slow(seconds=1)
def test_the_cap_holds_when_every_attempt_is_good_but_never_confirmed(jobs: TransformJobs) -> None:
    replies = [python(f"result = data.head({n})") for n in (1, 2, 1, 2, 1, 2)]
    result = jobs.transform(*replies, data=SALES, max_iterations=5)
    assert len(jobs.script.asked) == 5
    assert result.status == "best_so_far"
    assert result.table is not None
    assert result.table.row_count == 1


def test_done_before_any_code_is_not_done(jobs: TransformJobs) -> None:
    result = jobs.transform("DONE", GOOD, DONE, data=SALES)
    assert [one.outcome for one in result.iterations] == ["no_code", "result"]
    assert result.status == "done"


def test_not_done_yet_is_not_done(jobs: TransformJobs) -> None:
    result = jobs.transform(GOOD, "This is not DONE yet.", DONE, data=SALES)
    assert [one.outcome for one in result.iterations] == ["result", "no_code"]
    assert result.status == "done"


def test_code_with_done_runs_the_code(jobs: TransformJobs) -> None:
    result = jobs.transform(BAD + "\nDONE", GOOD + "\nDONE", "DONE", data=SALES)
    assert [one.outcome for one in result.iterations] == ["error", "result"]


def test_two_prose_answers_in_a_row_are_a_question(jobs: TransformJobs) -> None:
    result = jobs.transform("Let me think.", "Which year do you mean?", data=SALES)
    assert result.status == "question"
    assert result.question == "Which year do you mean?"
    assert result.table is None
    assert [one.outcome for one in result.iterations] == ["no_code", "no_code"]


def test_prose_with_something_else_in_between_is_no_question(jobs: TransformJobs) -> None:
    result = jobs.transform("Hm.", "DONE", "Hm.", GOOD, DONE, data=SALES)
    assert [one.outcome for one in result.iterations] == ["no_code", "no_code", "no_code", "result"]
    assert result.status == "done"


def test_a_cancelled_job_stops_before_the_next_call(jobs: TransformJobs) -> None:
    jobs.cancelled.set()
    with pytest.raises(JobCancelled):
        jobs.transform(GOOD, data=SALES)
    assert jobs.script.asked == []


def test_the_last_good_result_survives_later_bad_turns(jobs: TransformJobs) -> None:
    result = jobs.transform(GOOD, BAD, BAD, data=SALES, max_iterations=3)
    assert result.status == "best_so_far"
    assert result.table is not None
    assert result.table.rows == [["Berlin", 15], ["Paris", 20]]
    assert [one.outcome for one in result.iterations] == ["result", "error", "error"]
    assert jobs.report.warnings == ["the best result so far is given: the budget of turns is spent."]


@pytest.mark.slow
def test_a_failed_provider_leaves_the_best_so_far_or_fails_the_job(jobs: TransformJobs) -> None:
    assert jobs.transform(GOOD, data=SALES).status == "best_so_far"
    assert jobs.report.warnings
    with pytest.raises(ProvidersFailed):
        jobs.transform(BAD, data=SALES)


def test_a_no_op_is_named_and_nudged_and_done_is_refused(jobs: TransformJobs) -> None:
    result = jobs.transform(NO_OP, "DONE", GOOD, DONE, data=SALES)
    assert [one.outcome for one in result.iterations] == ["no_op", "no_op", "result"]
    assert result.status == "done"
    assert result.effect is not None
    assert not result.effect.no_op


def test_a_no_op_is_accepted_after_three_nudges(jobs: TransformJobs) -> None:
    result = jobs.transform(NO_OP, "DONE", "DONE", "DONE", confirmed("FROM data"), data=SALES)
    assert result.status == "done"
    assert result.effect is not None
    assert result.effect.no_op


@pytest.mark.slow(seconds=1)
def test_the_same_code_twice_is_accepted(jobs: TransformJobs) -> None:
    result = jobs.transform(NO_OP, python("# as before\nresult = data"), confirmed("FROM data"), data=SALES)
    assert result.status == "done"
    assert [one.outcome for one in result.iterations] == ["no_op", "no_op"]
    assert jobs.transform(GOOD, GOOD, data=SALES, confirm="always").status == "done"
    assert jobs.transform(GOOD, GOOD, data=SALES).status == "unverified", "it is accepted, and nothing checks it"


def test_after_two_failures_the_feedback_changes_tack(jobs: TransformJobs) -> None:
    jobs.transform(BAD, BAD, GOOD, "DONE", data=SALES)
    assert "failure 2 in a row" not in jobs.script.asked[1].messages[-1].content
    assert "failure 2 in a row" in jobs.script.asked[2].messages[-1].content


@pytest.mark.slow(seconds=1)
def test_assertions_gate_done_and_save_the_confirming_call(jobs: TransformJobs) -> None:
    result = jobs.transform(GOOD, data=SALES, assertions=["rows == 2", "unique(city)", "sum(amount) unchanged"])
    assert result.status == "done"
    assert len(jobs.script.asked) == 1
    result = jobs.transform(
        python("result = data.head(1)"), "DONE", GOOD, data=SALES, assertions=["rows == 2", "columns contain city"]
    )
    assert [one.outcome for one in result.iterations] == ["assertion_failed", "assertion_failed", "result"]
    assert "rows == 2" in jobs.script.asked[1].messages[-1].content


def test_a_result_that_never_holds_its_assertions_is_no_result(jobs: TransformJobs) -> None:
    with pytest.raises(BudgetSpentError):
        jobs.transform(GOOD, GOOD, "DONE", data=SALES, assertions=["rows == 9"], max_iterations=3)


@pytest.mark.parametrize(("confirm", "calls"), [("always", 2), ("never", 1), ("auto", 1)])
def test_confirm_decides_whether_the_model_is_asked(jobs: TransformJobs, confirm: str, calls: int) -> None:
    jobs.transform(GOOD, "DONE", data=SALES, assertions=["rows == 2"], confirm=confirm)
    assert len(jobs.script.asked) == calls


def test_a_look_is_answered_and_is_no_iteration(jobs: TransformJobs) -> None:
    result = jobs.transform("```python look\nprint(sorted(data.city.unique()))\n```", GOOD, "DONE", data=SALES)
    assert "['Berlin', 'Paris']" in jobs.script.asked[1].messages[-1].content
    assert [one.outcome for one in result.iterations] == ["result"]
    assert [probe.number for probe in result.probes] == [1]
    assert len(jobs.script.asked) == 3


def test_the_whole_exchange_is_in_every_request(jobs: TransformJobs) -> None:
    jobs.transform(BAD, GOOD, "DONE", data=SALES)
    roles = [message.role for message in jobs.script.asked[-1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert jobs.report.said[0][0] == "do it"
    assert "groupby" in jobs.report.said[0][1]


def test_a_word_about_being_done_is_no_explanation_and_an_error_is_said_once(jobs: TransformJobs) -> None:
    result = jobs.transform(python("boom"), f"I take one.\n{python('result = data.head(1)')}\nDONE", "DONE", data=SALES)
    assert result.explanation == "I take one."
    assert result.iterations[0].message.count("NameError") == 1


def test_cut_replies_and_refusals_are_no_question_to_the_person(jobs: TransformJobs) -> None:
    refused = ChatReply("I cannot.", "script", "scripted", finish=Finish.REFUSAL)
    with pytest.raises(BudgetSpentError) as spent:
        jobs.transform(cut("Let me think about"), cut("Once more, let me"), refused, data=SALES, max_iterations=3)
    iterations = spent.value.extra["iterations"]
    assert isinstance(iterations, list)
    messages = [str(each["message"]) for each in iterations if isinstance(each, dict)]
    assert ["cut off" in message for message in messages] == [True, True, False]
    assert messages[2].startswith("You refused")


def test_observed_assertions_are_reported_and_change_nothing(jobs: TransformJobs) -> None:
    result = jobs.transform(GOOD, DONE, data=SALES, observe=["rows == 2", "rows == 3"], result_rows=100)
    assert (result.status, [one.outcome for one in result.iterations]) == ("done", ["result"])
    assert [(check.text, check.holds) for check in result.observed] == [("rows == 2", True), ("rows == 3", False)]
    assert result.assertions == []
    assert "rows == 3" not in jobs.script.said()
