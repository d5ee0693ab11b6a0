"""Files of everyday programs, made here in their form: each with its values, in a data frame and as records."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shared.reading.large_text import to_parquet
from shared.reading.read import kind_of, read
from shared.reading.rows import json_rows, open_rows
from shared.reading.source import Unreadable
from shared.reading.stated import NOTHING_STATED


def _book(*rows: list[Any], merged: tuple[str, ...] = (), formats: dict[str, str] | None = None) -> bytes:
    """Return a workbook of one sheet, with merged cells and with the formats of some cells."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in rows:
        sheet.append([None if cell == "" else cell for cell in row])
    for cells in merged:
        sheet.merge_cells(cells)
    for cell, form in (formats or {}).items():
        sheet[cell].number_format = form
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


GROUPS: dict[str, list[Any]] = {
    "Region": ["North", "South"], "Sales H1 Q1": [1.0, 1.5], "Sales H1 Q2": [2, 2], "Sales H2 Q3": [3, 3],
    "Sales H2 Q4": [4, 4], "Cost H1 Q1": [5, 5], "Cost H1 Q2": [6, 6],
}  # fmt: skip
YEARS: dict[str, list[Any]] = {
    "Region": ["N", "S"],
    "Sales 2023": [1, 1],
    "Sales 2024": [2, 2],
    "Cost 2023": [3, 3],
    "Cost 2024": [4, 4],
}
LEVELS: dict[str, list[Any]] = {"A x": [1.0, 4.0], "A y": [2.0, 5.0], "B x": [3.0, 6.0]}

#: name of the file: its content, the table that it means, and what has to be reported
FILES: dict[str, tuple[str | bytes, dict[str, list[Any]], tuple[str, ...]]] = {
    "three_rows.csv": (
        "Region,Sales,,,,Cost,\n,H1,,H2,,H1,\n,Q1,Q2,Q3,Q4,Q1,Q2\nNorth,1,2,3,4,5,6\nSouth,1.5,2,3,4,5,6\n",
        GROUPS, ("in three rows",),
    ),
    "three_rows.xlsx": (
        _book(["Region", "Sales", "", "", "", "Cost", ""], ["", "H1", "", "H2", "", "H1", ""],
              ["", "Q1", "Q2", "Q3", "Q4", "Q1", "Q2"], ["North", 1, 2, 3, 4, 5, 6], ["South", 1.5, 2, 3, 4, 5, 6],
              merged=("A1:A3", "B1:E1", "B2:C2", "D2:E2", "F1:G1", "F2:G2")),
        GROUPS, ("in three rows",),
    ),
    "banners.csv": (
        ",Sales,,,,Cost,,\n,2023,,2024,,2023,,\nRegion,Q1,Q2,Q1,Q2,Q1,Q2,Q3\nN,1,2,3,4,5,6,7\nS,1,2,3,4,5,6,7\n",
        {"Region": ["N", "S"], "Sales 2023 Q1": [1, 1], "Sales 2023 Q2": [2, 2], "Sales 2024 Q1": [3, 3],
         "Sales 2024 Q2": [4, 4], "Cost 2023 Q1": [5, 5], "Cost 2023 Q2": [6, 6], "Cost 2023 Q3": [7, 7]},
        ("in three rows",),
    ),
    "years.csv": (",Sales,,Cost,\nRegion,2023,2024,2023,2024\nN,1,2,3,4\nS,1,2,3,4\n", YEARS, ("in two rows",)),
    "years.xlsx": (
        _book(["", "Sales", "", "Cost", ""], ["Region", 2023, 2024, 2023, 2024], ["N", 1, 2, 3, 4], ["S", 1, 2, 3, 4],
              merged=("B1:C1", "D1:E1")),
        YEARS, ("in two rows",),
    ),
    "pandas_levels.csv": (
        ",A,A,B\n,x,y,x\nid,,,\n1,1.0,2.0,3.0\n2,4.0,5.0,6.0\n", {"id": [1, 2], **LEVELS}, ("in three rows",),
    ),
    "pandas_without_index_name.csv": (
        ",A,A,B\n,x,y,x\n1,1.0,2.0,3.0\n2,4.0,5.0,6.0\n", {"column_1": [1, 2], **LEVELS}, ("in two rows",),
    ),
    "pandas_three_levels.csv": (
        ",A,A,B\n,x,y,x\n,m,m,s\n1,1.0,2.0,3.0\n2,4.0,5.0,6.0\n",
        {"column_1": [1, 2], "A x m": [1.0, 4.0], "A y m": [2.0, 5.0], "B x s": [3.0, 6.0]}, ("in three rows",),
    ),
    "zeros.xlsx": (
        _book(["", "name", "zip", "ssn", "share", "mix"], ["", "A", 1234, 12345678, 0.5, 7],
              ["", "B", 98765, 987654321, 0.25, 8], [], ["", "C", "", 1, 1, 12345],
              formats={f"{column}{row}": form for row in (2, 3, 5)
                       for column, form in (("C", "00000"), ("D", r"000\-00\-0000"), ("E", "0%"))} | {"F2": "000"}),
        {"name": ["A", "B", "C"], "zip": ["01234", "98765", None],
         "ssn": ["012-34-5678", "987-65-4321", "000-00-0001"], "share": [0.5, 0.25, 1.0], "mix": [7, 8, 12345]},
        ("zip: kept as text, as the workbook shows it: format 00000", "share: the workbook shows percentages",
         "mix: the numbers are read; the workbook shows some in the format 000"),
    ),
    "missing_row_name.csv": (
        ",A,B\n,x,1\n2,z,4\n", {"column_1": [None, 2], "A": ["x", "z"], "B": [1, 4]}, ("without a name",),
    ),
    "title_and_group.csv": (
        "Report,,,\n,Sales,,Cost\nRegion,a,b,c\nN,1,2,3\nS,1,2,3\n",
        {"Region": ["N", "S"], "a": [1, 1], "b": [2, 2], "c": [3, 3]}, ("2 lines above the header skipped",),
    ),
    "eviews.csv": (
        "obs,TOACI1,TOACI2,TOB1\n2000Q1,1.5,NA,3\n2000Q2,2.5,3,4\n",
        {"obs": ["2000Q1", "2000Q2"], "TOACI1": [1.5, 2.5], "TOACI2": [None, 3], "TOB1": [3, 4]},
        ("read as missing: 'NA' x 1",),
    ),
}  # fmt: skip

#: likewise, of programs of many kinds, one in each line
_LINES = (Path(__file__).parent / "everyday_files.jsonl").read_text(encoding="utf-8").splitlines()
EXPORTS = {case["name"]: case for case in map(json.loads, _LINES)}

#: texts that are no tables: what is said of them
REFUSED = {
    "app.log": ("2024-01-31 10:00:00,123 INFO Started, in 3 s\n2024-01-31 10:00:01,456 WARN Slow, too slow, see\n",
                "is a log whose lines have no fixed fields"),
    "syslog": ("Oct 11 22:14:15 host su: failed su root, x\nOct 11 22:14:16 host sshd[1]: Accepted\n", "is a log"),
    "torn.log": ('::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2\nhello\n'
                 '::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2\n', "line 2 has 1 fields"),
    "torn_logfmt.log": ("a=1 b=2\n" * 30 + "a=1 and b\n", "line 31 is not written as name=value"),
    "torn_record.txt": ("*************************** 1. row ***************************\n  id: 1\ntext of two\nlines\n",
                        "line 3 continues a value"),
    "statement.sta": (":20:STARTUMS\n:25:10020030/1234567\n:28C:0\n:60F:C240131EUR1234,56\n", "MT940"),
    "dump.sql": ("-- MySQL dump\n\nCREATE TABLE x (a int);\nINSERT INTO x VALUES (1);\n", "a dump of SQL"),
    "calendar.ics": ("BEGIN:VCALENDAR\nVERSION:2.0\n", "a calendar"),
    "data.arff": ("% x\n@relation weather\n@attribute a numeric\n@data\n1\n", "an ARFF file"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_without_an_option(tmp_path: Path, name: str) -> None:
    case = EXPORTS[name]
    path = tmp_path / name
    path.write_bytes(case["text"].encode(case["encoding"]))
    frame, notes, columns, _ = read(path, name)
    assert frame.columns == case["names"]
    assert [list(row.values()) for row in json_rows(frame)] == case["rows"]
    text = " ".join([*notes, *(f"{column}: {note}" for column, note in columns.items())])
    assert [part for part in case["reported"] if part not in text] == [], text
    table = open_rows(path, name, NOTHING_STATED, lambda column: True)
    assert [list(row.values()) for row in table.rows if isinstance(row, dict)] == case["rows"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_that_is_no_table_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    content, why = REFUSED[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(Unreadable, match=why):
        read(tmp_path / name, name)
    with pytest.raises(Unreadable, match="a log of this size" if name.startswith("torn") else why):
        to_parquet(io.BytesIO(content.encode() * 2), False, NOTHING_STATED, tmp_path / "t.parquet")


def test_moments_alone_or_with_quoted_texts_are_no_log(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('2024-01-31 10:00:00,"went a, b"\n2024-01-31 10:00:01,"it did so"\n')
    assert read(tmp_path / "a.csv", "a.csv").frame.to_series(1).to_list() == ["went a, b", "it did so"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_without_an_option(tmp_path: Path, name: str) -> None:
    content, expected, reported = FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame, notes, columns, _ = read(path, name)
    assert frame.to_dict(as_series=False) == expected
    text = " ".join([*notes, *(f"{column}: {note}" for column, note in columns.items())])
    assert [part for part in reported if part not in text] == [], text
    if kind_of(path, name, NOTHING_STATED) not in ("json", "jsonl"):
        rows = [row for row in open_rows(path, name, NOTHING_STATED, lambda column: True).rows if isinstance(row, dict)]
        assert [list(row) for row in rows] == [list(expected)] * frame.height
