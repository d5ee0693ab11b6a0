"""The strategy ``tools`` runs with the same runner and the same checks."""

from __future__ import annotations

import pytest

from shared.errors import BudgetSpentError
from tests.services.execution.transform.support import TransformJobs, calls, cut, python

SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
SUM = "result = data.groupby('city', as_index=False)['amount'].sum()"
RUN = calls(("run_code", {"code": SUM}))
SECOND = "SELECT city, sum(amount) FROM data GROUP BY city"
FINISH = calls(("finish", {"explanation": "Summed by city.", "second": SECOND}))


def test_look_run_and_finish_give_a_table(jobs: TransformJobs) -> None:
    look = calls(("look", {"code": "print(data.city.unique())"}))
    result = jobs.transform(look, RUN, FINISH, data=SALES, strategy="tools")
    assert result.status == "done"
    assert result.table is not None
    assert result.table.rows == [["Berlin", 15], ["Paris", 20]]
    assert [one.outcome for one in result.iterations] == ["result"]
    assert result.explanation == "Summed by city."
    assert len(result.probes) == 1
    roles = [message.role for message in jobs.script.asked[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert "Berlin" in jobs.script.asked[1].messages[-1].content
    assert [tool.name for tool in jobs.script.asked[0].tools] == ["run_code", "look", "finish"]


def test_several_calls_in_one_reply_are_all_answered(jobs: TransformJobs) -> None:
    result = jobs.transform(
        calls(("look", {}), ("run_code", {"code": SUM}), ("finish", {"second": SECOND})), data=SALES, strategy="tools"
    )
    assert result.status == "done"
    assert len(jobs.script.asked) == 1


@pytest.mark.slow(seconds=1.5)
@pytest.mark.parametrize(
    "reply",
    [
        '<tool_call>{"name": "run_code", "arguments": {"code": "CODE"}}</tool_call>',
        '```json\n{"name": "functions.runCode", "parameters": {"code": "CODE"}}\n```',
        '<invoke name="run_code"><parameter name="code">CODE</parameter></invoke>',
        'run_code(code="CODE")',
    ],
)
def test_a_call_that_is_written_as_text_is_run_as_a_call(jobs: TransformJobs, reply: str) -> None:
    result = jobs.transform(reply.replace("CODE", SUM), FINISH, data=SALES, strategy="tools")
    assert result.status == "done"
    assert [one.outcome for one in result.iterations] == ["result"]
    assert [message.role for message in jobs.script.asked[-1].messages] == ["system", "user", "assistant", "tool"]


@pytest.mark.slow(seconds=1.5)
def test_finish_passes_the_gates(jobs: TransformJobs) -> None:
    result = jobs.transform(FINISH, RUN, FINISH, data=SALES, strategy="tools")
    assert [one.outcome for one in result.iterations] == ["no_code", "result"]
    no_op = calls(("run_code", {"code": "result = data"}))
    result = jobs.transform(no_op, FINISH, RUN, FINISH, data=SALES, strategy="tools")
    assert [one.outcome for one in result.iterations] == ["no_op", "no_op", "result"]
    one_row = calls(("run_code", {"code": "result = data.head(1)"}))
    result = jobs.transform(one_row, FINISH, RUN, data=SALES, strategy="tools", assertions=["rows == 2"])
    assert [one.outcome for one in result.iterations] == ["assertion_failed", "assertion_failed", "result"]
    assert len(jobs.script.asked) == 3


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("run_code", {}, "code"),
        ("run_code", {"code": SUM, "speed": 9}, "speed"),
        ("drop_table", {}, "no tool"),
        ("look", {"data": "other"}, "no data set"),
    ],
)
def test_calls_that_do_not_fit_are_refused_in_words(
    jobs: TransformJobs, name: str, params: dict[str, object], words: str
) -> None:
    jobs.transform(calls((name, params)), RUN, FINISH, data=SALES, strategy="tools")  # type: ignore[arg-type]
    assert words in jobs.script.asked[1].messages[-1].content


def test_parameters_in_one_string_are_understood(jobs: TransformJobs) -> None:
    result = jobs.transform(
        calls(("run_code", {"arguments": '{"code": "result = data.head(1)"}'})), FINISH, data=SALES, strategy="tools"
    )
    assert result.code == "result = data.head(1)"


@pytest.mark.slow(seconds=1)
def test_the_cap_holds_and_five_failures_running_are_enough(jobs: TransformJobs) -> None:
    with pytest.raises(BudgetSpentError):
        jobs.transform(*[calls(("look", {}))] * 9, data=SALES, strategy="tools", max_iterations=3)
    assert len(jobs.script.asked) == 3
    bad = calls(("run_code", {"code": "result = nothing"}))
    with pytest.raises(BudgetSpentError):
        jobs.transform(*[bad] * 20, data=SALES, strategy="tools", max_iterations=20)
    assert len(jobs.script.asked) == 5


@pytest.mark.slow(seconds=1)
def test_looks_are_limited(jobs: TransformJobs) -> None:
    look = calls(*[("look", {"code": "print(1)"})] * 9)
    result = jobs.transform(look, RUN, FINISH, data=SALES, strategy="tools")
    assert len(result.probes) == 8
    assert "no looks are left" in jobs.script.asked[1].messages[-1].content


@pytest.mark.slow(seconds=1)
def test_talk_instead_of_tools_becomes_a_question(jobs: TransformJobs) -> None:
    result = jobs.transform("Hm.", "Which month?", data=SALES, strategy="tools")
    assert (result.status, result.question) == ("question", "Which month?")
    result = jobs.transform(RUN, "DONE", data=SALES, strategy="tools", confirm="always")
    assert result.status == "done"
    result = jobs.transform(python(SUM), RUN, FINISH, data=SALES, strategy="tools")
    assert result.status == "done"


def test_cut_talk_is_no_question_to_the_person(jobs: TransformJobs) -> None:
    with pytest.raises(BudgetSpentError):
        jobs.transform(cut("Let me"), cut("Let me"), data=SALES, strategy="tools", max_iterations=2)
    assert "cut off" in jobs.script.last()


@pytest.mark.slow(seconds=1)
def test_a_result_that_is_not_computed_again_is_unverified(jobs: TransformJobs) -> None:
    alone = calls(("finish", {}))
    result = jobs.transform(RUN, alone, data=SALES, strategy="tools")
    assert result.status == "unverified"
    assert [reason.code for reason in result.unverified_because] == ["not_checked"]
    assert "call finish with `second`: DuckDB SQL code" in jobs.script.last()
    wrong = calls(("run_code", {"code": SUM.replace("sum", "max")}))
    result = jobs.transform(wrong, FINISH, alone, data=SALES, strategy="tools")
    assert [reason.code for reason in result.unverified_because] == ["own_check_failed"]
    assert "gives another result: other values in amount" in jobs.script.last()
    assert jobs.transform(wrong, FINISH, RUN, FINISH, data=SALES, strategy="tools").status == "done"
