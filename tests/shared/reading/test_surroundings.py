"""Numbers with a currency, units below names, remarks below a table, rows of totals: read, with a note."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shared.reading.read import read
from shared.reading.rows import open_rows
from shared.reading.stated import NOTHING_STATED

FILES: dict[str, tuple[str, dict[str, list[Any]], str]] = {
    "currency in front": ('k,v\na,€1.50\nb,"€1,234.00"\n', {"k": ["a", "b"], "v": [1.5, 1234.0]}, "numbers in €"),
    "currency behind": ("k;v\na;1,50 €\nb;1.234,00 €\n", {"k": ["a", "b"], "v": [1.5, 1234.0]}, "numbers in €"),
    "currency as a code": ("k;v\na;1'234.5 CHF\nb;3 CHF\n", {"k": ["a", "b"], "v": [1234.5, 3.0]}, "numbers in CHF"),
    "brackets": (
        'k,v\na,"$1,200.00"\nb,($900.00)\nc,-$5.25\n', {"k": ["a", "b", "c"], "v": [1200.0, -900.0, -5.25]},
        "brackets are negative",
    ),
    "minus behind": (
        "k;v\na;1.200,00-\nb;89,10\n", {"k": ["a", "b"], "v": [-1200.0, 89.1]}, "a minus behind a number counts",
    ),
    "typographic minus": ("k,v\na,−5\nb,3\n", {"k": ["a", "b"], "v": [-5, 3]}, "v: "),
    "lakh": ('k,v\na,"12,34,567"\nb,"1,00,000"\n', {"k": ["a", "b"], "v": [1234567, 100000]}, "v: "),
    "missing cells": ("k,v\na,€1.50\nb,-\nc,\n", {"k": ["a", "b", "c"], "v": [1.5, None, None]}, "numbers in €"),
    "two currencies": ("k,v\na,€1.50\nb,$2.00\n", {"k": ["a", "b"], "v": ["€1.50", "$2.00"]}, ""),
    "a number and a currency": ("k;v\na;5 €\nb;7\n", {"k": ["a", "b"], "v": ["5 €", "7"]}, ""),
    "numbers of notes": ("k,v\na,(1)\nb,(2)\n", {"k": ["a", "b"], "v": ["(1)", "(2)"]}, ""),
    "text with a currency": ("k,v\na,€1.50\nb,€ free\n", {"k": ["a", "b"], "v": ["€1.50", "€ free"]}, ""),
    "ranges": ("k,v\na,5-7\nb,8-9\n", {"k": ["a", "b"], "v": ["5-7", "8-9"]}, ""),
    "percentages": ("k,v\na,12.5%\nb,1%\n", {"k": ["a", "b"], "v": ["12.5%", "1%"]}, "kept as text: percentages"),
    "units": (
        "time,temp,rh\n,°C,%\n2024-01-31 00:00,21.5,45\n2024-01-31 00:10,21.4,46\n",
        {"time": [datetime(2024, 1, 31), datetime(2024, 1, 31, 0, 10)], "temp": [21.5, 21.4], "rh": [45, 46]},
        "units below the names left out: temp °C, rh %",
    ),
    "units in brackets": ("n;v\n;[mm/d]\n1;2,5\n2;3\n", {"n": [1, 2], "v": [2.5, 3.0]}, "units below the names"),
    "a row of missing cells": ("a,b\n-,-\n1,2\n3,4\n", {"a": [None, 1, 3], "b": [None, 2, 4]}, "read as missing"),
    "letters that are no units": (
        "n,grade\nm,A\nf,C\nm,K\n", {"n": ["m", "f", "m"], "grade": ["A", "C", "K"]}, ""
    ),
    "remarks": (
        "r,n\nNorth,1\nSouth,2\n\nSource: office\n(1) estimated\n", {"r": ["North", "South"], "n": [1, 2]},
        "2 lines of remarks below the table left out",
    ),
    "remarks with delimiters": (
        'r,n\nNorth,1\nSouth,2\n,\n"Source: office, 2024",\n', {"r": ["North", "South"], "n": [1, 2]},
        "1 line of remarks",
    ),
    "remarks below a rule": ("r;n\nNord;1\n____\n© Amt\n", {"r": ["Nord"], "n": [1]}, "1 line of remarks"),
    "a row with an empty cell is none": (
        "r,n\nNorth,1\n\nSouth,2\nEast,\n", {"r": ["North", "South", "East"], "n": [1, 2, None]}, "",
    ),
    "a row with missing cells below a blank line": (
        "r,n\nNorth,1\nSouth,2\n,\nEast,\n", {"r": ["North", "South", "East"], "n": [1, 2, None]}, "1 blank row",
    ),
    "totals": (
        "r,n\nA,10\nB,20\nTotal,30\n", {"r": ["A", "B", "Total"], "n": [10, 20, 30]},
        "1 row seems to be a total of others (r: Total)",
    ),
    "a name with total in it": ("r,n\nTotalEnergies,1\nShell,2\n", {"r": ["TotalEnergies", "Shell"], "n": [1, 2]}, ""),
    "doubled carriage returns": ("r,n\r\r\nA,x\r\r\n", {"r": ["A"], "n": ["x"]}, "two carriage returns"),
    "dates and amounts": (
        "d;v\n31.01.2024;-3,50 EUR\n01.02.2024;2.500,00 EUR\n",
        {"d": [date(2024, 1, 31), date(2024, 2, 1)], "v": [-3.5, 2500.0]}, "numbers in EUR",
    ),
}  # fmt: skip
_OF_READING = ("numbers", "minus", "units", "remarks", "seem", "carriage", "percent", "written with")


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_around_numbers_and_rows_is_read_with_a_note(tmp_path: Path, name: str) -> None:
    content, expected, note = FILES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    frame, notes, column_notes, _ = read(path, "a.csv")
    assert frame.to_dict(as_series=False) == expected
    said = " | ".join([*notes, *(f"{column}: {each}" for column, each in column_notes.items())])
    assert note in said
    assert note or not any(word in said for word in _OF_READING), said


@pytest.mark.parametrize("name", ["currency behind", "brackets", "units", "remarks", "doubled carriage returns"])
def test_an_ingest_reads_them_alike(tmp_path: Path, name: str) -> None:
    content, expected, _ = FILES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    numbers = {column for column, cells in expected.items() if any(isinstance(cell, (int, float)) for cell in cells)}
    table = open_rows(path, "a.csv", NOTHING_STATED, numbers.__contains__)
    rows = list(table.rows)
    for column in numbers:
        assert [row[column] for row in rows if isinstance(row, dict)] == expected[column]


def test_a_row_of_units_in_a_sheet_is_left_out(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["time", "temp", "rh"], ["h", "°C", "%"], [0, 21.5, 40], [1, 21.7, 41]):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    frame, notes, _, _ = read(tmp_path / "a.xlsx", "a.xlsx")
    assert frame.to_dict(as_series=False) == {"time": [0, 1], "temp": [21.5, 21.7], "rh": [40, 41]}
    assert "units below the names left out: time h, temp °C, rh %" in notes
