"""The prompts of a small model: short, after examples, and different after an answer that failed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl
import pytest

from services.execution.transform.feedback import named_columns
from services.execution.transform.missing_names import missing_names, missing_note
from services.execution.transform.preview import references
from services.execution.transform.prose import in_prose
from services.execution.transform.retries import MAX_REPEATS, Plan, Retry
from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import BudgetSpentError
from shared.llm.chat import ChainLink, ChatRequest, Prompting
from tests.services.execution.transform.support import Script, TransformJobs, python

SALES = "city,amount,paid\nBerlin,10,2024-01-05\nParis,20,2024-02-01\nBerlin,5,2024-02-03\n"
GOOD = python("result = data.groupby('city', as_index=False)['amount'].sum()")
BAD = python("result = data['nothing']")
WORSE = python("result = data.nothing()")


@dataclass
class Small(Script):
    """A script of a model that is prompted in a given way."""

    prompting: Prompting = "examples"
    others: Sequence[ChainLink] = ()
    replies: list[object] = field(default_factory=list)  # type: ignore[assignment]

    def links_of(self, request: ChatRequest) -> Sequence[ChainLink]:
        return (ChainLink("local", "tiny", prompting=self.prompting), *self.others)


def solved(jobs: TransformJobs, model: Small, task: str = "total amount by city", **wanted: object) -> TransformResult:
    body = {"task": task, "data": [{"csv": SALES}], **wanted}
    return Transform(jobs.sandbox)(replace(jobs.context(), llm=model), TransformInput.model_validate(body))


def small(*replies: str, prompting: Prompting = "examples", others: Sequence[ChainLink] = ()) -> Small:
    return Small(list(replies), prompting=prompting, others=others)


def test_a_small_model_is_asked_briefly_after_examples_and_once(jobs: TransformJobs) -> None:
    model = small(GOOD)
    result = solved(jobs, model)
    assert result.status == "unverified"
    assert [reason.code for reason in result.unverified_because] == ["not_checked"]
    assert result.table is not None
    assert result.table.rows == [["Berlin", 15], ["Paris", 20]]
    (request,) = model.asked
    roles = [message.role for message in request.messages]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    assert len(roles) > 3
    last = request.messages[-1].content
    assert "DataFrame `data` is loaded. Columns: city (object), amount (int64), paid" in last
    assert "Task: total amount by city" in last
    said = model.said()
    for notation in ("BEGIN DATA", "```checks", "DONE", "rows ==", "distinct("):
        assert notation not in said


def test_values_are_shown_only_where_the_task_speaks_of_them(jobs: TransformJobs) -> None:
    model = small(GOOD)
    solved(jobs, model, "amount of berlin by month")
    last = model.asked[0].messages[-1].content
    assert 'city (object, such as "Berlin")' in last
    assert "Paris" not in last


def test_masked_values_stay_out_of_the_brief_prompt(jobs: TransformJobs) -> None:
    model = small(GOOD)
    solved(jobs, model, "amount of Berlin", preview={"mask": ["city"]})
    assert '"Berlin"' not in model.said()


def test_assertions_are_said_in_words_and_checked(jobs: TransformJobs) -> None:
    model = small(python("result = data[['city']]"), GOOD)
    result = solved(jobs, model, assertions=["rows == 2", "unique(city)"])
    assert [one.outcome for one in result.iterations] == ["assertion_failed", "result"]
    assert result.status == "done"
    assert "The result has exactly 2 rows." in model.asked[0].messages[-1].content


def test_every_form_of_assertion_has_words_or_none() -> None:
    said = in_prose(
        ["rows >= 2", "columns are a, b", "columns contain a", "unique(a, b)", "no_nulls(a)", "sum(a) unchanged",
         "type(a) is float", "sorted(a desc, b)", "a > 3", "rows unchanged", "rows == distinct(a)"]
    )  # fmt: skip
    assert len(said) == 10
    assert all("(" not in sentence and "==" not in sentence for sentence in said)


def test_a_result_without_rows_is_asked_about(jobs: TransformJobs) -> None:
    model = small(python("result = data[data['city'] == 'berlin']"), GOOD)
    result = solved(jobs, model)
    assert [one.outcome for one in result.iterations] == ["result", "result"]
    assert "no rows" in model.asked[1].messages[-1].content


def test_a_good_result_is_confirmed_without_a_word_that_it_is_wrong(jobs: TransformJobs) -> None:
    model = small(GOOD, "DONE")
    solved(jobs, model, confirm="always")
    shown = _shown(model.asked[1])
    assert "total amount by city" in shown
    assert '["Berlin", 15]' in shown
    assert "wrong" not in shown
    assert "groupby('city', as_index=False)['amount'].sum()" not in shown


def test_the_same_failing_code_is_not_run_again_and_each_question_is_of_another_kind(jobs: TransformJobs) -> None:
    again = python('result = data["nothing"]  # the same')
    other = ChainLink("other", "large")
    model = small(BAD, BAD, again, BAD, BAD, GOOD, others=[other])
    result = solved(jobs, model, max_iterations=9)
    assert result.status in ("done", "unverified")
    messages = [one.message for one in result.iterations]
    assert [message.startswith("The same code as before") for message in messages] == [False, *[True] * 4, False]
    asked = model.asked
    assert 'There is no column "nothing" yet: compute it first.' in asked[1].messages[-1].content
    assert all("result = data['nothing']" not in message.content for message in asked[1].messages)
    assert all("nothing" not in message.content for message in asked[2].messages)
    assert asked[2].parameters == {"temperature": 0.7, "seed": 1}
    assert asked[3].selector == ("other/large",)
    assert len({_shown(request) for request in asked}) == len(asked)


def _shown(request: ChatRequest) -> str:
    parameters = sorted((request.parameters or {}).items())
    return f"{request.messages} {parameters} {request.selector}"


def test_a_large_model_that_repeats_itself_is_asked_briefly(jobs: TransformJobs) -> None:
    model = small(BAD, BAD, BAD, GOOD, prompting="plain")
    result = solved(jobs, model)
    assert result.table is not None
    assert "BEGIN DATA" in model.asked[0].messages[-1].content
    assert "is loaded. Columns:" in model.asked[3].messages[-1].content


def test_a_small_model_never_reads_its_own_code_again(jobs: TransformJobs) -> None:
    model = small(BAD, python("result = data['amount'] + 'x'"), GOOD)
    result = solved(jobs, model)
    assert [one.outcome for one in result.iterations] == ["error", "error", "result"]
    first, second, third = (request.messages for request in model.asked)
    assert second[:-1] == third[:-1] == first[:-1]
    assert "There is no column" in second[-1].content
    assert "Avoid this error: " in third[-1].content
    asked = "Task: total amount by city\n"
    assert all(
        messages[-1].content.startswith(first[-1].content.split(asked)[0] + asked) for messages in (second, third)
    )
    assert all(messages[-1].content.endswith("`result`.") for messages in (first, second, third))
    assert all("result = data" not in message.content for message in third)


def test_the_same_question_is_not_sent_twice_alike(jobs: TransformJobs) -> None:
    model = small(BAD, WORSE, GOOD)
    assert solved(jobs, model).table is not None
    _, second, third = model.asked
    assert second.messages == third.messages
    assert not second.parameters
    assert third.parameters == {"temperature": 0.7, "seed": 1}


def test_a_small_model_that_answers_in_prose_reads_the_task_again(jobs: TransformJobs) -> None:
    model = small("I would group the rows.", GOOD)
    assert solved(jobs, model).table is not None
    last = model.asked[1].messages[-1].content
    assert "Task: total amount by city" in last
    assert "There is no code in your reply." in last


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("KeyError: 'rank'", 'There is no column "rank" yet: compute it first.'),
        ("KeyError: \"['rank'] not in index\"", 'There is no column "rank" yet: compute it first.'),
        ("KeyError: 'horsepower'", 'There is no column "horsepower": use "Horsepower".'),
        ("KeyError: 'Horsepower/Name'", 'There is no column "Horsepower/Name" yet: compute it first.'),
        ("KeyError: 'region'", 'Only sites has the column "region": join that table first.'),
        ("NameError: name 'Name' is not defined", 'Only cars has the column "Name": join that table first.'),
        ("AttributeError: 'DataFrame' object has no attribute 'rank'", 'There is no column "rank" yet'),
        ("KeyError: 'weight [kg]'", 'There is no column "weight [kg]" yet'),
        ("KeyError: 'cars'", ""),
        ("AttributeError: 'Series' object has no attribute 'rank'", ""),
        ("ZeroDivisionError: division by zero", ""),
    ],
)
def test_a_name_that_is_missing_is_noted_in_a_sentence(message: str, wanted: str) -> None:
    note = missing_note(message, {"cars": ["Name", "Horsepower"], "sites": ["site", "region"]})
    assert note.startswith(wanted) if wanted else not note


def test_a_small_model_reads_which_column_holds_the_keys_of_another_table(jobs: TransformJobs) -> None:
    tables = {
        "orders": "id,customer,quantity\n1,7,7\n2,8,8\n3,7,7\n",
        "customers": "id,name\n7,Eva\n8,Tom\n9,Uwe\n",
        "stores": "code,store\nA,North\n",
    }
    body = {"task": "names of customers", "data": [{"name": name, "csv": csv} for name, csv in tables.items()]}
    model = small(python("result = customers.merge(orders, left_on='id', right_on='customer')[['name']]"))
    Transform(jobs.sandbox)(replace(jobs.context(), llm=model), TransformInput.model_validate(body))
    last = model.asked[0].messages[-1].content
    assert "`orders` has id of `customers` in customer." in last
    assert last.count("` has ") == 1


@pytest.mark.parametrize(
    "customers",
    [
        {"id": [7], "name": ["a"]},  # not all values
        {"id": [7, 8, 8], "name": ["a", "b", "c"]},  # a key twice
        {"id": ["7", "8"], "name": ["a", "b"]},  # another type
        {"customer": [7, 8], "name": ["a", "b"]},  # the same name says so already
    ],
)
def test_a_column_without_keys_of_another_table_is_not_one(customers: dict[str, list[object]]) -> None:
    orders = pl.DataFrame({"customer": [7, 8, 7, None], "quantity": [7, 8, 7, 7]})
    assert references({"orders": orders, "customers": pl.DataFrame(customers)}) == []


def test_a_model_that_never_changes_its_answer_ends_the_job(jobs: TransformJobs) -> None:
    with pytest.raises(BudgetSpentError, match="different answers"):
        solved(jobs, small(*[BAD] * 30, prompting="plain"), max_iterations=20)


@pytest.mark.parametrize("answers", [[BAD, BAD, BAD], [BAD, WORSE, BAD]])
def test_a_small_model_ends_after_three_failed_answers(jobs: TransformJobs, answers: list[str]) -> None:
    model = small(*answers, GOOD)
    with pytest.raises(BudgetSpentError, match="failed answers"):
        solved(jobs, model)
    assert len(model.asked) == 3


def test_the_order_of_questions() -> None:
    other = ChainLink("other", "large")
    plain = [Plan(others=[other]).kind(number) for number in range(1, 6)]
    assert plain == [Retry.ALONE, Retry.OTHER_PROMPT, Retry.WARMER, Retry.OTHER_MODEL, Retry.WARMER]
    assert [Plan(tools=True).kind(number) for number in (1, 2)] == [Retry.WARMER, Retry.WARMER]
    seeds = [(Plan(short=True).applied(ChatRequest("r", ()), n).parameters or {}).get("seed") for n in range(2, 7)]
    assert len(set(seeds)) == 5
    assert MAX_REPEATS == 6


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("KeyError: 'horsepower'", 'There is no "horsepower"; do you mean "Horsepower"?'),
        ("KeyError: \"['rank'] not in index\"", "The columns of cars are"),
        ('ColumnNotFoundError: unable to find column "horse_power"', 'do you mean "Horsepower"?'),
        ('BinderException: Binder Error: Referenced column "horsepowr" not found', 'do you mean "Horsepower"?'),
        ("Error: object 'horsepower' not found", 'do you mean "Horsepower"?'),
        ("AttributeError: 'DataFrame' object has no attribute 'name'", 'do you mean "Name"?'),
    ],
)
def test_a_missing_name_is_answered_with_the_names_there_are(message: str, wanted: str) -> None:
    assert wanted in missing_names(message, {"cars": ["Name", "Horsepower"]})


def test_other_errors_name_no_columns() -> None:
    assert missing_names("ZeroDivisionError: division by zero", {"cars": ["Name"]}) == ""


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Mean price. Columns: product, mean", ["product", "mean"]),
        ("columns: a, b and c.", ["a", "b", "c"]),
        ("Add the columns that are missing", []),
        ("Columns: the name of the city, and its total", []),
    ],
)
def test_the_columns_that_a_task_lists(task: str, names: list[str]) -> None:
    assert named_columns(task) == names


def test_a_result_without_the_columns_of_the_task_is_asked_about(jobs: TransformJobs) -> None:
    model = small(GOOD, python("result = data.groupby('city', as_index=False).agg(total=('amount', 'sum'))"))
    result = solved(jobs, model, "Total by city. Columns: city, total")
    assert result.table is not None
    assert [column.name for column in result.table.columns] == ["city", "total"]
    assert "The task names the columns city, total; the result has city, amount." in model.asked[1].messages[-1].content
