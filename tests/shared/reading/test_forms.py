"""Forms in which tables are written besides plain CSV: drawn, of fixed width, without a header, with odd cells."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shared.reading.delimited import BadRow, is_even
from shared.reading.large_text import to_parquet
from shared.reading.read import read
from shared.reading.rows import open_rows
from shared.reading.source import Unreadable
from shared.reading.stated import NOTHING_STATED

Table = dict[str, list[Any]]


def _excel(*rows: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for number, row in enumerate(rows, 1):
        for across, value in enumerate(row, 1):
            book.active.cell(number, across, value)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


SAP = """31.01.2024                     Listenausgabe                         1
----------------------------------
| Belegnr  |  Betrag |Text       |
----------------------------------
|1900000001| 1.200,00|Miete      |
----------------------------------

31.01.2024                     Listenausgabe                         2
----------------------------------
| Belegnr  |  Betrag |Text       |
----------------------------------
|1900000002|    89,10|Strom      |
----------------------------------
|*         | 1.289,10|           |
----------------------------------
"""
WEATHER = """Station   Date        Temp  Note
Berlin    2024-01-31  -1.5  dry and cold
New Ulm   2024-02-01   2.0
"""
SQLPLUS = """ID   NAME       AMOUNT
---- ---------- ------
1    Ann Lee      1.50
2    Bo          10.25

2 rows selected.
"""
#: name of the file: its content, the table that it means, and parts of what has to be reported
FORMS: dict[str, tuple[str | bytes, Table, tuple[str, ...]]] = {
    "sap.txt": (
        SAP,
        {"Belegnr": [1900000001, 1900000002], "Betrag": [1200.0, 89.1], "Text": ["Miete", "Strom"]},
        ("drawn with lines", "lines 1, 8", "names again: line 10", "totals, marked with *: line 14"),
    ),
    "markdown.txt": ("| a | b |\n|--:|---|\n| 1 | x\\|y |\n| 2 | z |\n", {"a": [1, 2], "b": ["x|y", "z"]}, ("drawn",)),
    "psql.txt": (
        " id | name \n----+------\n  1 | Ann\n  2 | Bo\n(2 rows)\n",
        {"id": [1, 2], "name": ["Ann", "Bo"]},
        ("line 5",),
    ),
    "mysql.txt": (
        "+----+---+\n| id | n |\n+----+---+\n|  1 | A |\n|  2 | B |\n+----+---+\n",
        {"id": [1, 2], "n": ["A", "B"]},
        (),
    ),
    "box.txt": (
        "┌──────┬───┐\n│ city │ n │\n├──────┼───┤\n│ Oslo │ 1 │\n└──────┴───┘\n",
        {"city": ["Oslo"], "n": [1]},
        (),
    ),
    "grid.txt": (
        "+---+---+\n| a | n |\n+===+===+\n| x | 1 |\n+---+---+\n| y | 2 |\n+---+---+\n",
        {"a": ["x", "y"], "n": [1, 2]},
        (),
    ),
    "fixed.txt": (
        WEATHER,
        {
            "Station": ["Berlin", "New Ulm"],
            "Date": [date(2024, 1, 31), date(2024, 2, 1)],
            "Temp": [-1.5, 2.0],
            "Note": ["dry and cold", None],
        },
        ("fixed width",),
    ),
    "sqlplus.txt": (SQLPLUS, {"ID": [1, 2], "NAME": ["Ann Lee", "Bo"], "AMOUNT": [1.5, 10.25]}, ("line 6",)),
    "simple.txt": (
        "======= ===\nName    Qty\n======= ===\nAnn Lee   1\nBo        2\n======= ===\n",
        {"Name": ["Ann Lee", "Bo"], "Qty": [1, 2]},
        ("fixed width",),
    ),
    "within_a_cell.csv": (
        'id,text\n1,"| a | b |\n|---|---|\n| 1 | 2 |"\n2,"\n| a | b |\n|---|---|\n| 1 | 2 |\n"\n',
        {"id": [1, 2], "text": ["| a | b |\n|---|---|\n| 1 | 2 |", "\n| a | b |\n|---|---|\n| 1 | 2 |\n"]},
        (),
    ),
    "gaps.csv": ("id,desc\n1,a  b\n2,c   d\n", {"id": [1, 2], "desc": ["a  b", "c   d"]}, ()),
    "missing_marks.txt": ("a|b\n-|5\n3|-\n", {"a": [None, 3], "b": [5, None]}, ()),
    "blank_rows.csv": ("a;b;c\nx;1;2\n;;\ny;3;4\n;;\n", {"a": ["x", "y"], "b": [1, 3], "c": [2, 4]}, ("2 blank rows",)),
    "blank_line.csv": ('a,b\n1,2\n   \n3,"4\n  \n5"\n', {"a": [1, 3], "b": ["2", "4\n  \n5"]}, ()),
    "end_of_dos.csv": (b"a,b\r\n1,2\r\n3,4\r\n\x1a", {"a": [1, 3], "b": [2, 4]}, ()),
    "no_header.csv": (
        "1,2.5,Oslo\n2,3.5,Rome\n",
        {"column_1": [1, 2], "column_2": [2.5, 3.5], "column_3": ["Oslo", "Rome"]},
        ("no header",),
    ),
    "no_header_dates.csv": (
        "2024-01-31,5\n2024-02-01,6\n",
        {"column_1": [date(2024, 1, 31), date(2024, 2, 1)], "column_2": [5, 6]},
        ("no header",),
    ),
    "german_no_header.csv": (
        "1,5;2,5;a\n3,5;4,5;b\n",
        {"column_1": [1.5, 3.5], "column_2": [2.5, 4.5], "column_3": ["a", "b"]},
        ("no header", "delimiter ';'"),
    ),
    "planned.csv": (
        "city,2024-01-31\nOslo,2024-01-30\n",
        {"city": ["Oslo"], "2024-01-31": [date(2024, 1, 30)]},
        (),
    ),
    "places.txt": (
        "52.520  13.405\n48.137  11.576\n51.000   9.500\n",
        {"column_1": [52.52, 48.137, 51.0], "column_2": [13.405, 11.576, 9.5]},
        ("no header",),
    ),
    "exponents.csv": ("k,v\n1,1.5e3\n2,2E-4\n3,1e5\n", {"k": [1, 2, 3], "v": [1500.0, 0.0002, 100000.0]}, ()),
    "codes.csv": ("code,n\n12E3,1\n4500,2\n", {"code": ["12E3", "4500"], "n": [1, 2]}, ("12E3 may be codes",)),
    "years.csv": ("2022,2023\n1.5,2\n2.5,3\n", {"2022": [1.5, 2.5], "2023": [2, 3]}, ()),
    "doses.csv": (
        "gene,0.5,1.0\nA,1.2,2.2\nB,3.5,4.1\n",
        {"gene": ["A", "B"], "0.5": [1.2, 3.5], "1.0": [2.2, 4.1]},
        (),
    ),
    "datev.csv": (
        '"EXTF";700;21;"Buchungsstapel";12;20240131;20240131;1\n'
        "Umsatz;Konto;Belegfeld\n119,50;1200;0001\n59,50;1200;0002\n",
        {"Umsatz": [119.5, 59.5], "Konto": [1200, 1200], "Belegfeld": ["0001", "0002"]},
        ("DATEV",),
    ),
    "text_formulas.csv": (
        'id,zip\n1,="01234"\n2,"=""99999"""\n',
        {"id": [1, 2], "zip": ["01234", "99999"]},
        ('="01"',),
    ),
    "points.csv": (
        "k;n\na;3.755.251\nb;110.674\n",
        {"k": ["a", "b"], "n": [3755251, 110674]},
        ("thousands separator '.'",),
    ),
    "addresses.csv": (
        "ip;n\n192.168.100.101;1\n10.168.100.102;2\n",
        {"ip": ["192.168.100.101", "10.168.100.102"], "n": [1, 2]},
        (),
    ),
    "both_signs.csv": ("k;v\na;1.234,50\nb;1.5\nc;2,5\n", {"k": ["a", "b", "c"], "v": ["1.234,50", "1.5", "2,5"]}, ()),
    "statistics.tsv": (
        "geo\t2020\t2021\nDE\t1.5\t:\nFR\t..\t2.5\n",
        {"geo": ["DE", "FR"], "2020": [1.5, None], "2021": [None, 2.5]},
        ("missing: ':' x 1",),
    ),
    "errors.csv": ("id,n\n1,5\n2,#DIV/0!\n3,.a\n", {"id": [1, 2, 3], "n": [5, None, None]}, ("'#DIV/0!' x 1",)),
    "utc.csv": (
        "t,n\n2024-01-31 10:00:00.5 UTC,1\n2024-01-31 10:00:01 UTC,2\n",
        {
            "t": [datetime(2024, 1, 31, 10, 0, 0, 500_000, UTC), datetime(2024, 1, 31, 10, 0, 1, tzinfo=UTC)],
            "n": [1, 2],
        },
        (),
    ),
    "mail.csv": (
        't,n\n"Wed, 31 Jan 2024 10:00:00 GMT",1\n"Thu, 01 Feb 2024 10:00:00 +0100",2\n',
        {"t": [datetime(2024, 1, 31, 10, tzinfo=UTC), datetime(2024, 2, 1, 9, tzinfo=UTC)], "n": [1, 2]},
        (),
    ),
    "web_server.csv": (
        "t,n\n31/Jan/2024:10:00:00 +0100,1\n",
        {"t": [datetime(2024, 1, 31, 9, tzinfo=UTC)], "n": [1]},
        (),
    ),
    "log.csv": (
        't,n\n"2024-01-31 10:00:00,123",1\n"2024-01-31 10:00:01,456",2\n',
        {"t": [datetime(2024, 1, 31, 10, 0, 0, 123_000), datetime(2024, 1, 31, 10, 0, 1, 456_000)], "n": [1, 2]},
        (),
    ),
    "nat.csv": ("t,n\n2024-01-31,1\nNaT,2\n", {"t": [date(2024, 1, 31), None], "n": [1, 2]}, ("'NaT' x 1",)),
    "mac.csv": (
        "Stadt;n\nKöln;1\nMünchen;2\n".encode("mac-roman"),
        {"Stadt": ["Köln", "München"], "n": [1, 2]},
        ("mac-roman",),
    ),
    "dos.csv": (
        "Stadt;n\nKöln;1\nMünchen;2\n".encode("cp850"),
        {"Stadt": ["Köln", "München"], "n": [1, 2]},
        ("cp850",),
    ),
    "polish.csv": ("m;n\nŁódź;1\nWrocław;2\n".encode("cp1250"), {"m": ["Łódź", "Wrocław"], "n": [1, 2]}, ("cp1250",)),
    "signs.csv": (
        "k;v\nCafé;5 €\nl’été;6 €\nm³/h;7\n½ kg;8\n".encode("cp1252"),
        {"k": ["Café", "l’été", "m³/h", "½ kg"], "v": ["5 €", "6 €", "7", "8"]},
        ("encoding windows-1252",),
    ),
    "two_tables.xlsx": (
        _excel(["city", "n"], ["Oslo", 1], ["Rome", 2], [], ["item", "price"], ["pen", 1.5], ["cup", 2]),
        {"city": ["Oslo", "Rome"], "n": [1, 2]},
        ("another table", "rows 5 to 7"),
    ),
    "remarks.xlsx": (
        _excel(["year", "n"], [2023, 1], [2024, 2], [], ["Source: own figures"]),
        {"year": [2023, 2024], "n": [1, 2]},
        ("remarks below the table, not read: row 5 ('Source: own figures')",),
    ),
    "source.xlsx": (
        _excel(["city", "n"], ["Oslo", 1], [], ["Quelle: Destatis"]),
        {"city": ["Oslo"], "n": [1]},
        ("row 4 ('Quelle: Destatis')",),
    ),
    "list.xlsx": (
        _excel(["task", "done"], ["wash", "x"], [], ["dry", None]),
        {"task": ["wash", "dry"], "done": ["x", None]},
        ("1 blank row",),
    ),
    "total.xlsx": (
        _excel(["city", "n"], ["Oslo", 1], [], ["Total", 1]),
        {"city": ["Oslo", "Total"], "n": [1, 1]},
        ("1 blank row",),
    ),
    "spans.xlsx": (
        _excel(["e", "h"], ["a", timedelta(hours=25, minutes=30)], ["b", "ill"], ["c", timedelta(hours=48)]),
        {"e": ["a", "b", "c"], "h": ["25:30:00", "ill", "48:00:00"]},
        (),
    ),
    "days.xlsx": (_excel(["v"], ["x"], [date(2024, 1, 31)]), {"v": ["x", "2024-01-31"]}, ()),
    "error.xlsx": (
        _excel(["k", "v"], ["a", 1], ["b", "#DIV/0!"]),
        {"k": ["a", "b"], "v": [1, None]},
        ("1 cell with an error",),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read_as_it_is_meant(tmp_path: Path, name: str) -> None:
    content, expected, reported = FORMS[name]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    frame, notes, column_notes, _ = read(tmp_path / name, name)
    assert frame.to_dict(as_series=False) == expected
    shown = " ".join([*notes, *(f"{column}: {note}" for column, note in column_notes.items())])
    assert [part for part in reported if part not in shown] == [], shown
    if name.endswith(".csv"):
        assert not any(mark in shown for mark in ("drawn", "fixed width"))


@pytest.mark.parametrize("name", [name for name in FORMS if not name.endswith(".xlsx")])
def test_an_ingest_reads_as_many_rows(tmp_path: Path, name: str) -> None:
    content, expected, _ = FORMS[name]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    table = open_rows(tmp_path / name, name, NOTHING_STATED, lambda column: False)
    assert list(table.names) == list(expected)
    assert len(list(table.rows)) == len(next(iter(expected.values())))


@pytest.mark.parametrize("name", ["sap.txt", "markdown.txt", "psql.txt", "box.txt", "fixed.txt", "sqlplus.txt"])
def test_a_drawn_table_is_known_as_one_without_its_ending(name: str) -> None:
    content = FORMS[name][0]
    assert isinstance(content, str)
    assert is_even(content.encode())
    prose = "Some notes on the table below.\nThey are longer than it.\n" * 20
    assert not is_even(f"{prose}\n{content}\n{prose}".encode())


def test_a_drawn_table_with_a_torn_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(" a | b\n---+---\n 1 | 2\n 3 | 4 | 5\n")
    with pytest.raises(Unreadable, match="line"):
        read(tmp_path / "t.txt", "t.txt")


def test_bad_rows_keep_their_places_among_those_that_stay(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n,\n1,2\n3,4,5\n,\n6,7\n8\n9,9\n")
    table = open_rows(tmp_path / "t.csv", "t.csv", NOTHING_STATED, lambda column: True)
    rows: list[Any] = [row.line if isinstance(row, BadRow) else row["a"] for row in table.rows]
    assert rows == [1, 4, 6, 7, 9]


def test_blank_rows_are_counted_over_all_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.reading.large_text.PIECE_BYTES", 20)
    content = b"a,b\n" + b",\n" * 30 + b"1,2\n,\n3,4\n"
    write: Callable[..., Any] = to_parquet
    table = write(io.BytesIO(content), False, NOTHING_STATED, tmp_path / "t.parquet")
    assert "31 blank rows left out" in table.notes
    assert read(tmp_path / "t.parquet", "t.parquet").frame.rows() == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234.567", "1.234.568", "5", "6"], [1234567, 1234568, 5, 6]),
        (["1.234.567", "1.234.568", "1.234", "1.235"], ["1.234.567", "1.234.568", "1.234", "1.235"]),
        (["1.234", "1.235", "1.234.567", "1.234.568"], ["1.234", "1.235", "1.234.567", "1.234.568"]),
    ],
)
def test_points_mean_the_same_in_all_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str], expected: list[Any]
) -> None:
    monkeypatch.setattr("shared.reading.large_text.PIECE_BYTES", 2 * len(cells[0]))
    content = "k\tv\n" + "".join(f"x\t{cell}\n" for cell in cells)
    to_parquet(io.BytesIO(content.encode()), False, NOTHING_STATED, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", "t.parquet").frame["v"].to_list() == expected
