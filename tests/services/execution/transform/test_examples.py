"""The solved examples that small models are shown: they run, agree in every language, and fit the task."""

from __future__ import annotations

import pytest

from benchmarks.tasks import SHOP, TRANSFORM
from services.execution.transform.examples import MAX_EXAMPLES, matching_examples, shipped_examples
from shared.languages import LANGUAGES
from tests.services.execution.transform.support import TransformJobs

READERS = {reader.name: language for language in LANGUAGES.values() for reader in language.readers}
EXAMPLES = {each.name: each for each in shipped_examples()}


def test_every_example_is_written_for_every_reader() -> None:
    assert {name: sorted(each.code) for name, each in EXAMPLES.items()} == dict.fromkeys(EXAMPLES, sorted(READERS))


def test_no_example_is_a_graded_task() -> None:
    graded = {task.text for task in (*TRANSFORM, *SHOP)}
    tables = {name for task in (*TRANSFORM, *SHOP) for name in (*task.data, *task.rows)}
    for each in EXAMPLES.values():
        assert each.task not in graded
        assert not tables & set(each.data), each.name


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_the_same_table_in_every_language(jobs: TransformJobs, name: str) -> None:
    example = EXAMPLES[name]
    data = [{"name": table, "csv": text + "\n"} for table, text in example.data.items()]
    tables = {}
    for reader, language in READERS.items():
        choice = {"dataframe": reader} if language.name == "python" else {}
        table = jobs.table(data, example.code[reader], language=language.name, **choice)
        assert table is not None
        cells = [[round(cell, 9) if isinstance(cell, float) else cell for cell in row] for row in table.rows()]
        tables[reader] = (table.columns, [[str(cell) for cell in row] for row in cells])
    assert tables["pandas"][1], "an example without rows shows nothing"
    assert all(table == tables["pandas"] for table in tables.values()), tables


@pytest.mark.parametrize(
    ("task", "tables", "wanted"),
    [
        ("Rank the sellers within each region by revenue", 1, "rank"),
        ("Employees that no department lists", 2, "absent"),
        ("Wide: one column for each quarter", 1, "wide"),
        ("How many tickets were closed? One column n", 1, "one_row"),
        ("The rolling mean of the last seven days", 1, "moving"),
        ("Percentage of returned parcels for each carrier", 1, "share"),
        ("Fill the gaps of the meter with the last known reading", 1, "fill"),
        ("The mean temperature by day of the week", 1, "weekday"),
        ("Turnover of each quarter", 1, "quarter"),
        ("Each employee with the name of the manager", 1, "same_table"),
        ("Clinics with more than ten beds", 1, "having"),
        ("The most common first word of the street names", 1, "frequent"),
        ("The oldest tree of each park", 1, "top_of_group"),
        ("Revenue (pieces times price) by shop", 1, "computed_group"),
    ],
)
def test_the_examples_are_like_the_task(task: str, tables: int, wanted: str) -> None:
    names = [each.name for each in matching_examples(task, "pandas", tables)]
    assert wanted in names
    assert len(names) <= MAX_EXAMPLES


def test_how_to_sort_decides_no_example() -> None:
    assert [each.name for each in matching_examples("names of the lakes that are frozen, by name", "pandas", 1)] == [
        each.name for each in matching_examples("names of the lakes that are frozen", "pandas", 1)
    ]


def test_an_example_that_is_far_less_alike_is_left_out() -> None:
    names = [each.name for each in matching_examples("The change since the previous month, by date", "pandas", 1)]
    assert names == ["previous"]


def test_an_example_with_two_tables_is_not_shown_to_a_task_with_one() -> None:
    chosen = matching_examples("Join them and look up their region of the customer", "pandas", 1)
    assert all(len(each.data) == 1 for each in chosen)


def test_a_task_like_no_other_gets_the_usual_examples() -> None:
    assert {each.name for each in matching_examples("zzz", "sql", 1)} == {"select", "group"}
