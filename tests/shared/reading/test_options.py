"""Options that the caller states: the header's row, lines to skip, decimal sign, marks for missing values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shared.reading.cells import MISSING
from shared.reading.read import read
from shared.reading.source import Unreadable
from shared.reading.stated import Stated


def columns(path: Path, **options: Any) -> dict[str, list[object]]:
    return read(path, path.name, Stated.of(options))[0].to_dict(as_series=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("x,y\na,b\n1,2\n", {"header_row": 2}, {"a": [1], "b": [2]}),
        ("one\ntwo\n\na;b\n1;2\n", {"header_row": 4}, {"a": [1], "b": [2]}),
        ("1,2\n3,4\n", {"header_row": 0}, {"column_1": [1, 3], "column_2": [2, 4]}),
        ("name,town\nAnna,Bern\n", {"header_row": 0}, {"column_1": ["name", "Anna"], "column_2": ["town", "Bern"]}),
        ("a,b\nx,y\n1,2\n", {"skip": 1}, {"x": [1], "y": [2]}),
        ("junk,junk,junk\njunk,junk,junk\n\na,b\n1,2\n", {"skip": 2}, {"a": [1], "b": [2]}),
        ('a,b\n"1,5",x\n"2,25",y\n', {"decimal": ","}, {"a": [1.5, 2.25], "b": ["x", "y"]}),
        ("a;b\n1.234;x\n2.500;y\n", {"decimal": ","}, {"a": [1234, 2500], "b": ["x", "y"]}),
        ("a;b\n1,234;x\n2,500;y\n", {"decimal": "."}, {"a": [1234, 2500], "b": ["x", "y"]}),
        ("a,b\n1,x\n-999,y\n", {"na_values": ["-999"]}, {"a": [1, None], "b": ["x", "y"]}),
        ("a,b\n1,x\n-999,y\n", {"na_values": ["x", "-999"]}, {"a": [1, None], "b": [None, "y"]}),
        ("a,b\nk. A.,2024-01-31\n3,-\n", {"na_values": ["k. A."]}, {"a": [None, 3], "b": [dt.date(2024, 1, 31), None]}),
        ("a#b\n1#2\n", {"delimiter": "#"}, {"a": [1], "b": [2]}),
        ("t\n\na#b\n1#2\n", {"delimiter": "#", "header_row": 3}, {"a": [1], "b": [2]}),
    ],
)
def test_a_text_table_is_read_as_stated(
    file: Path, text: str, options: dict[str, Any], expected: dict[str, list[object]]
) -> None:
    file.write_text(text)
    assert columns(file, **options) == expected


@pytest.mark.slow
def test_options_hold_of_a_large_file_too(file: Path) -> None:
    rows = "".join(f"{number};{number},5;-999\n" for number in range(1, 200_001))
    file.write_text("export of today;;\nid;amount;weight\n" + rows + "200001;1;7\n")
    assert file.stat().st_size > 2_000_000
    read_columns = columns(file, header_row=2, na_values=["-999"])
    assert read_columns["amount"][:2] == [1.5, 2.5]
    assert read_columns["weight"][-2:] == [None, 7]


@pytest.mark.parametrize("name", ["count", "value", "times", "c"])
def test_a_column_may_have_any_name_and_missing_cells(file: Path, name: str) -> None:
    file.write_text(f"{name},b\nNA,x\n3,NULL\n")
    assert columns(file) == {name: [None, 3], "b": ["x", None]}


def test_a_line_of_a_stated_header_that_the_file_does_not_have_is_refused(file: Path) -> None:
    file.write_text("a,b\n1,2\n")
    with pytest.raises(Unreadable, match="header is to be in line 9"):
        columns(file, header_row=9)


def test_rows_that_do_not_fit_are_named_by_the_line_of_the_file(file: Path) -> None:
    file.write_text("title\nmore\na,b\n1,2\n1,2,3\n")
    with pytest.raises(Unreadable, match="line 5 has 3 fields"):
        columns(file, header_row=3)
    with pytest.raises(Unreadable, match="line 5 has 3 fields"):
        columns(file, skip=2)
    file.write_text("1,2\n" * 4 + "1,2,3\n")
    with pytest.raises(Unreadable, match="line 5 has 3 fields"):
        columns(file, header_row=0)


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    rows: list[list[Any]] = [
        [],
        [None, "Sales of the north"],
        [None, "all in EUR", None, "draft"],
        [None, "town", "amount", "count"],
        [None, "Bern", 1.5, 3],
        [None, "Ulm", "n/a", -999],
        [None, "-", 2.5, 4],
    ]
    for row in rows:
        sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def test_blank_rows_at_the_top_of_a_sheet_move_no_row(workbook: Path) -> None:
    expected = {"town": ["Bern", "Ulm", "-"], "amount": [1.5, None, 2.5], "count": [3, -999, 4]}
    assert columns(workbook, header_row=4) == expected
    assert columns(workbook, skip=3) == expected
    assert columns(workbook) == expected


def test_marks_for_missing_values_are_those_of_text_tables(workbook: Path, file: Path) -> None:
    frame, _, column_notes, _ = read(workbook, workbook.name, Stated(header_row=4, na_values=("-999", "-")))
    assert frame.to_dict(as_series=False) == {
        "town": ["Bern", "Ulm", None], "amount": [1.5, None, 2.5], "count": [3, None, 4],
    }  # fmt: skip
    file.write_text("town,amount,count\nBern,1.5,3\nUlm,n/a,-999\n-,2.5,4\n")
    text, _, text_notes, _ = read(file, file.name, Stated(na_values=("-999", "-")))
    assert text.equals(frame)
    assert text_notes == {"town": "read as missing: '-' x 1", "amount": "read as missing: 'n/a' x 1",
                          "count": "read as missing: '-999' x 1"}  # fmt: skip
    assert column_notes == text_notes


def test_every_mark_for_a_missing_number_is_noted_in_a_workbook_as_in_text(tmp_path: Path, file: Path) -> None:
    marks = [mark for mark in MISSING if mark]
    rows: list[list[object]] = [["n", *(f"c{at}" for at in range(len(marks)))]]
    rows += [[1, *[1.5] * len(marks)], [2, *marks], [3, *[2.5] * len(marks)]]
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    for cell in book.active[3][1:]:
        cell.data_type = "s"
    book.save(tmp_path / "book.xlsx")
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    sheet, text = read(tmp_path / "book.xlsx", "book.xlsx"), read(file, file.name)
    assert sheet.frame.equals(text.frame)
    assert (
        sheet.columns == text.columns == {f"c{at}": f"read as missing: {mark!r} x 1" for at, mark in enumerate(marks)}
    )


def test_a_sheet_without_a_header_gets_numbered_columns(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append([1, "a"])
    book.active.append([2, "b"])
    book.save(tmp_path / "book.xlsx")
    assert columns(tmp_path / "book.xlsx", header_row=0) == {"column_1": [1, 2], "column_2": ["a", "b"]}


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("data.json", '[{"a": 1}]', {"header_row": 2}),
        ("data.json", '[{"a": 1}]', {"header_row": 0}),
        ("data.jsonl", '{"a": 1}\n{"a": 2}\n', {"decimal": ","}),
        ("data.csv", "a,b\n1,2\n", {"sheet": "first"}),
        ("data.json", '[{"a": 1}]', {"na_values": ["x"]}),
        ("data.json", '[{"a": 1}]', {"skip": 1}),
    ],
)
def test_an_option_that_does_not_apply_is_refused_by_its_name(
    tmp_path: Path, name: str, content: str, options: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(Unreadable, match=next(iter(options))):
        columns(tmp_path / name, **options)
