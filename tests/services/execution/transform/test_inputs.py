"""Data of every kind comes in, and what is wrong with it is said before any model is called."""

from __future__ import annotations

import io
from datetime import date

import openpyxl
import polars as pl
import pytest

from shared.errors import InvalidData, LanguageUnavailable, NotFound
from tests.services.execution.transform.support import TransformJobs, python

FRAME = pl.DataFrame({"id": [1, None, 3], "day": [date(2024, 1, 31), date(2024, 2, 1), None], "zip": ["007", "1", "2"]})


def upload(jobs: TransformJobs, name: str, content: bytes) -> list[dict[str, str]]:
    return [{"name": "data", "file_id": jobs.files.add(name, content)}]


def written(kind: str) -> bytes:
    buffer = io.BytesIO()
    match kind:
        case "csv":
            FRAME.write_csv(buffer)
        case "tsv":
            FRAME.write_csv(buffer, separator="\t")
        case "parquet":
            FRAME.write_parquet(buffer)
        case "arrow":
            FRAME.write_ipc(buffer)
        case "xlsx":
            _workbook(buffer)
    return buffer.getvalue()


def _workbook(buffer: io.BytesIO) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(FRAME.columns)
    for row in FRAME.iter_rows():
        sheet.append(list(row))
    book.save(buffer)


@pytest.mark.parametrize(
    ("kind", "dataframe"),
    [("csv", "pandas"), ("tsv", "polars"), ("parquet", "pandas"), ("arrow", "polars"), ("xlsx", "pandas")],
)
def test_types_survive_the_way_through_every_format_and_library(jobs: TransformJobs, kind: str, dataframe: str) -> None:
    code = "result = data.head(2)"
    result = jobs.transform(
        python(code), data=upload(jobs, f"data.{kind}", written(kind)), dataframe=dataframe, confirm="never"
    )
    assert result.table is not None
    assert [(column.name, column.type) for column in result.table.columns] == [
        ("id", "int"),
        ("day", "date"),
        ("zip", "string"),
    ]
    assert result.table.rows == [[1, "2024-01-31", "007"], [None, "2024-02-01", "1"]]
    assert result.table.file_id is not None
    assert pl.read_parquet(jobs.files.contents[result.table.file_id][1]).equals(FRAME.head(2))


def test_several_data_sets_stand_under_their_names(jobs: TransformJobs) -> None:
    data = [
        {"name": "orders", "rows": [{"id": 1, "city": "B"}, {"id": 2, "city": "P"}]},
        {"name": "cities", "csv": "city,name\nB,Berlin\nP,Paris\n"},
    ]
    result = jobs.transform(python("orders.merge(cities, on='city', how='left')"), "DONE", data=data)
    assert result.table is not None
    assert result.table.rows == [[1, "B", "Berlin"], [2, "P", "Paris"]]
    assert '"orders": 2 rows x 2 columns' in jobs.script.said()
    assert '"cities": 2 rows x 2 columns' in jobs.script.said()


def test_the_first_message_previews_the_data(jobs: TransformJobs) -> None:
    rows = "".join(f"{n},{'ab'[n % 2]},{n * 1.5},x{n}\n" for n in range(1000))
    jobs.transform(python("result = data.head(1)"), "DONE", data="n,kind,value,key\n" + rows)
    first = jobs.script.asked[0].messages[1].content
    assert "1,000 rows x 4 columns" in first
    assert 'all values: "a" x 500, "b" x 500' in first
    assert "from 0.0 to 1498.5" in first
    assert "1,000 distinct" in first
    assert '[0, "a", 0.0, "x0"]' in first
    assert "x5" not in first.replace("x500", "").replace("x 500", "")


@pytest.mark.slow(seconds=3)
def test_previews_are_bounded_whatever_the_data(jobs: TransformJobs) -> None:
    wide = ",".join(f"column_{n}" for n in range(1500))
    result = jobs.transform(
        python("print('y' * 100_000); result = data.assign(t='x' * 9000)"),
        "DONE",
        data=f"{wide}\n{','.join(['longish text'] * 1500)}\n",
        preview={"tokens": 2000},
        confirm="always",
    )
    assert result.status == "done"
    assert all(len(message.content) < 9000 for request in jobs.script.asked for message in request.messages)
    assert "more columns" in jobs.script.said()


def test_the_account_names_the_cells_that_left(jobs: TransformJobs) -> None:
    result = jobs.transform(python("result = data.head(1)"), "DONE", data="a,b\n1,x\n2,y\n3,x\n", preview={"rows": 2})
    sent = result.audit[0]
    assert (sent.turn, sent.table, sent.rows, sent.columns) == (1, "data", 2, ["a", "b"])
    assert sent.values["b"] == 2
    assert result.audit[1].table == "result"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([{"csv": ""}], "empty"),
        ([{"csv": "a,b\n"}], "no rows"),
        ([{"rows": []}], "no rows"),
        ([{"csv": "a,b\n1\n"}], "line 2"),
        ([{"csv": ",".join(f"c{n}" for n in range(5000)) + "\n" + "1," * 4999 + "1"}], "5,000 columns"),
    ],
)
def test_bad_data_is_named_before_any_model_call(
    jobs: TransformJobs, data: list[dict[str, object]], words: str
) -> None:
    named = [{"name": "data", **one} for one in data]
    with pytest.raises(InvalidData, match=words) as refused:
        jobs.transform(python("result = data"), data=named)
    assert refused.value.status == 422
    errors = refused.value.problem()["errors"]
    assert isinstance(errors, list)
    assert isinstance(errors[0], dict)
    assert errors[0]["loc"] == ["input", "data", 0, next(iter(data[0]))]
    assert jobs.script.asked == []


def test_a_bad_file_an_unknown_one_and_a_missing_language_are_named(jobs: TransformJobs) -> None:
    with pytest.raises(InvalidData, match="binary data"):
        jobs.transform(data=upload(jobs, "x.csv", bytes(range(256)) * 9))
    with pytest.raises(NotFound):
        jobs.transform(data=[{"name": "data", "file_id": "nope"}])
    if jobs.sandbox.languages()["r"] is None:
        with pytest.raises(LanguageUnavailable, match="r is not installed"):
            jobs.transform(data="a\n1\n", language="r")
    assert jobs.script.asked == []


@pytest.mark.slow(seconds=1)
def test_the_same_input_code_and_seed_give_the_same_bytes(jobs: TransformJobs) -> None:
    code = "import numpy as np\nresult = data.assign(x=np.random.rand(len(data)))"
    contents = set()
    for _ in range(2):
        result = jobs.transform(python(code), "DONE", data="a\n1\n2\n3\n", seed=7)
        assert result.table is not None
        assert result.table.file_id is not None
        contents.add(jobs.files.contents[result.table.file_id][1])
    assert len(contents) == 1
    other = jobs.transform(python(code), "DONE", data="a\n1\n2\n3\n", seed=8)
    assert other.table is not None
    assert other.table.file_id is not None
    assert jobs.files.contents[other.table.file_id][1] not in contents


@pytest.mark.slow
def test_whole_numbers_within_lists_and_objects_stay_whole_beside_missing_ones(jobs: TransformJobs) -> None:
    rows = [{"s": {"x": 1}, "l": [1, None]}, {"s": None, "l": None}, {"s": {"x": None}, "l": [2]}]
    for dataframe in ("pandas", "polars"):
        result = jobs.transform(data=rows, dataframe=dataframe, code="result = data")
        assert result.effect is not None
        assert result.effect.no_op
        assert result.table is not None
        assert result.table.rows == [[{"x": 1}, [1, None]], [None, None], [{"x": None}, [2]]]
        assert all(isinstance(cell, int) for cell in result.table.rows[0][1][:1])  # type: ignore[index, union-attr]
