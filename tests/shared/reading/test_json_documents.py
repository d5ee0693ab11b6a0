"""JSON as programs send it: records within an object, tables by column, NaN, long numbers, fields given twice."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shared.reading.read import read
from shared.reading.source import Unreadable

Table = tuple[pl.DataFrame, list[str], dict[str, str]]
Read = Callable[..., Table]


@pytest.fixture
def table(tmp_path: Path) -> Read:
    def from_text(text: str, name: str = "data.json") -> Table:
        (tmp_path / "file").write_text(text)
        frame, notes, columns, _ = read(tmp_path / "file", name)
        return frame, notes, columns

    return from_text


ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("name", ["data.json", "data.jsonl", "data"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("document", "note"),
    [
        ({"data": ROWS}, "records of 'data'"),
        ({"items": ROWS}, "records of 'items'"),
        ({"results": ROWS, "count": 2}, "records of 'results' (not read: 'count')"),
        ({"next": None, "data": ROWS, "errors": []}, "records of 'data' (not read: 'next', 'errors')"),
        (
            {"Records": ROWS, "hasMore": False, "nextCursor": "x"},
            "records of 'Records' (not read: 'hasMore', 'nextCursor')",
        ),
        ({"@odata.context": "x", "value": ROWS}, "records of 'value' (not read: '@odata.context')"),
        ({"meta": {"total_count": 2}, "objects": ROWS}, "records of 'objects' (not read: 'meta')"),
        ({"data": {"items": ROWS, "total": 2}}, "records of 'data.items' (not read: 'data.total')"),
        (
            {"took": 1, "timed_out": False, "_shards": {"total": 1}, "hits": {"total": {"value": 2}, "hits": ROWS}},
            "records of 'hits.hits' (not read: 'took', 'timed_out', '_shards', 'hits.total')",
        ),
        (
            {"status": "ok", "response": {"docs": ROWS, "start": 0}},
            "records of 'response.docs' (not read: 'status', 'response.start')",
        ),
    ],
)
def test_records_within_an_object_are_read_in_one_line_or_many(
    table: Read, document: object, note: str, indent: int | None, name: str
) -> None:
    for end in ("", "\n", "\n\n"):
        frame, notes, _ = table(json.dumps(document, indent=indent) + end, name)
        assert frame.to_dicts() == ROWS
        assert notes == [note]


def test_a_page_of_records_in_each_line_is_read_as_the_records(table: Read) -> None:
    pages = [{"data": ROWS, "next": 2}, {"data": [], "next": 3}, {"data": [{"a": 3}], "next": None}]
    frame, notes, _ = table("\n".join(map(json.dumps, pages)), "data.jsonl")
    assert frame.to_dicts() == [*ROWS, {"a": 3, "b": None}]
    assert notes == ["records of 'data' (not read: 'next')"]


@pytest.mark.parametrize(
    "row",
    [
        {"id": 1, "items": ROWS},
        {"customer": "A", "items": ROWS},
        {"messages": [{"role": "user", "content": "x"}]},
        {"data": ROWS, "tags": ["s"]},
        {"data": ROWS, "results": ROWS},
        {"data": {"k": 1}},
        {"results": [1, 2]},
    ],
)
def test_a_line_with_lists_of_its_own_stays_one_record(table: Read, row: dict[str, object]) -> None:
    for lines in (1, 2):
        frame, notes, _ = table("\n".join([json.dumps(row)] * lines), "data.jsonl")
        assert frame.to_dicts() == [row] * lines
        assert notes == []


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("document", "rows", "note"),
    [
        ({"a": ROWS, "b": ROWS[:1]}, 1, "one object, read as one row (it has several lists: 'a', 'b')"),
        ({"data": ROWS, "tags": ["s"]}, 1, "one object, read as one row (it has several lists: 'data', 'tags')"),
        ({"id": 7, "rows": ROWS}, 1, "one object, read as one row"),
        ({"a": 1, "b": {"c": 2}}, 1, "one object, read as one row"),
        ({"company": "X", "sales": ROWS}, 2, "records of 'sales' (not read: 'company')"),
    ],
)
def test_what_a_document_of_one_object_becomes_is_noted(
    table: Read, document: dict[str, object], rows: int, note: str, indent: int | None
) -> None:
    frame, notes, _ = table(json.dumps(document, indent=indent))
    assert notes == [note]
    assert frame.to_dicts() == ([document] if rows == 1 else ROWS)


@pytest.mark.parametrize(
    ("document", "note"),
    [
        ({"a": [1, 2], "b": ["x", "y"]}, "written column by column"),
        ({"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}}, "written column by column"),
        ({"columns": ["a", "b"], "data": [[1, "x"], [2, "y"]]}, "written as names and rows"),
        (
            {"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, "y"]]},
            "written as names and rows (not read: 'index')",
        ),
    ],
)
def test_tables_as_pandas_writes_them_are_read(table: Read, document: object, note: str) -> None:
    frame, notes, _ = table(json.dumps(document))
    assert frame.to_dicts() == ROWS
    assert notes == [note]


def test_an_empty_list_of_records_has_no_rows(table: Read) -> None:
    for name in ("data.json", "data.jsonl"):
        with pytest.raises(Unreadable, match="there are no rows"):
            table('{"data": [], "count": 0}', name)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["NaN", "1"], [None, 1], "read as missing: 'NaN' x 1"),
        (["1.5", "NaN", "NaN"], [1.5, None, None], "read as missing: 'NaN' x 2"),
        (["NaN", '"x"'], [None, "x"], "read as missing: 'NaN' x 1"),
        (["NaN", "true"], [None, True], "read as missing: 'NaN' x 1"),
        (["[1.5, NaN]", "[2]"], [[1.5, None], [2]], "read as missing: 'NaN' x 1"),
        (['{"k": NaN}', '{"k": 2}'], [{"k": None}, {"k": 2}], "read as missing: 'NaN' x 1"),
        (["Infinity", "-Infinity", "1"], [math.inf, -math.inf, 1], ""),
        (["[Infinity, 1]"], [[math.inf, 1]], ""),
        (["Infinity", "NaN"], [math.inf, None], "read as missing: 'NaN' x 1"),
    ],
)
def test_numbers_that_are_none_do_not_fail_the_file(
    table: Read, cells: list[str], values: list[Any], note: str, lines: bool
) -> None:
    objects = [f'{{"a": {cell}, "n": 1}}' for cell in cells]
    text = "\n".join(objects) if lines else f"[{', '.join(objects)}]"
    frame, notes, columns = table(text, "data.jsonl" if lines else "data.json")
    assert frame["a"].to_list() == values
    assert columns == ({"a": note} if note else {})
    assert notes == []


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["1234567890123456.78", "1.5"], ["1234567890123456.78", "1.5"]),
        (["12345678901234567.0", "1"], ["12345678901234567.0", "1"]),
        (["1e400", "1.5"], ["1e400", "1.5"]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["-9223372036854775809"], ["-9223372036854775809"]),
    ],
)
def test_a_number_that_would_change_is_kept_as_text(
    table: Read, cells: list[str], values: list[str], lines: bool
) -> None:
    objects = [f'{{"a": {cell}}}' for cell in cells]
    text = "\n".join(objects) if lines else f"[{', '.join(objects)}]"
    frame, _, columns = table(text, "data.jsonl" if lines else "data.json")
    assert frame["a"].to_list() == values
    assert columns == {"a": "kept as text: more digits than a number keeps"}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["9007199254740993", "1"], [9007199254740993, 1]),
        (["9007199254740992", "0.5"], [9007199254740992.0, 0.5]),
        (["0.30000000000000004", "1.2345678901234567890123"], [0.30000000000000004, 1.2345678901234568]),
        (["1e300", "2.5"], [1e300, 2.5]),
    ],
)
def test_a_number_that_a_float_holds_stays_one(table: Read, cells: list[str], values: list[float]) -> None:
    frame, _, columns = table("\n".join(f'{{"a": {cell}}}' for cell in cells), "data.jsonl")
    assert frame["a"].to_list() == values
    assert columns == {}


def test_values_of_several_kinds_are_text_and_noted(table: Read) -> None:
    frame, _, columns = table('[{"a": 1}, {"a": "x"}, {"a": [1]}]')
    assert frame["a"].to_list() == ["1", "x", "[1]"]
    assert columns == {"a": "kept as text: its values are of several kinds"}


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ('[{"a": 1, "a": 2}]', "data.json", "an object has the field 'a' twice"),
        (
            '{"a": 1}\n{"a": 1, "b": {"k": 1, "k": 1}}',
            "data.jsonl",
            "line 2 is not JSON: an object has the field 'k' twice",
        ),
    ],
)
def test_a_field_that_is_given_twice_is_refused(table: Read, text: str, name: str, words: str) -> None:
    with pytest.raises(Unreadable) as refused:
        table(text, name)
    assert words in str(refused.value)
