"""Files as different programs write them, made here in their form, read without an option by transform and ingest."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pytest

from shared.reading.delimited import BadRow
from shared.reading.read import read
from shared.reading.rows import open_rows
from shared.reading.stated import NOTHING_STATED

D = date


@dataclass(frozen=True)
class Program:
    """A file, and the table that it means."""

    name: str
    content: bytes
    expected: Mapping[str, list[Any]]
    notes: tuple[str, ...] = ()  #: parts of what has to be reported


def _excel(rows: list[list[Any]], merge: str = "", start: tuple[int, int] = (1, 1), title: str = "Sheet1") -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for down, row in enumerate(rows):
        for across, value in enumerate(row):
            sheet.cell(start[0] + down, start[1] + across, value)
    if merge:
        sheet.merge_cells(merge)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _pandas(write: Callable[[pd.DataFrame, io.BytesIO], None]) -> bytes:
    frame = pd.DataFrame({"city": ["Oslo", "Köln", None], "n": [1, 2, 3], "share": [0.5, None, 2.5]})
    buffer = io.BytesIO()
    write(frame, buffer)
    return buffer.getvalue()


PLAIN: dict[str, list[Any]] = {"city": ["Oslo", "Köln", None], "n": [1, 2, 3], "share": [0.5, None, 2.5]}
BOOKED = [D(2024, 1, 31), D(2024, 2, 1), D(2024, 2, 29)]
PROGRAMS = {
    "excel_de_csv": Program(
        "umsatz.csv",
        "Datum;Kunde;Betrag;Anteil\r\n31.01.2024;Müller;1.234,50;0,5\r\n01.02.2024;Groß;-99,90;1,25\r\n29.02.2024;Öz;12,00;2\r\n".encode(
            "cp1252"
        ),
        {"Datum": BOOKED, "Kunde": ["Müller", "Groß", "Öz"], "Betrag": [1234.5, -99.9, 12.0], "Anteil": [0.5, 1.25, 2.0]},
        ("encoding windows-1252", "delimiter ';'", "decimal comma"),
    ),
    "excel_fr_csv": Program(
        "ventes.csv",
        "Libellé;Montant;Quantité\r\nÉté;1 234,50;3\r\nNoël;12,5;10\r\n".encode("cp1252"),
        {"Libellé": ["Été", "Noël"], "Montant": [1234.5, 12.5], "Quantité": [3, 10]},
        ("delimiter ';'",),
    ),
    "excel_us_csv": Program(
        "sales.csv",
        b'Date,Item,Amount\r\n1/31/2024,"Pipe, 5"" wide","1,234.50"\r\n12/25/2024,Bolt,99.90\r\n',
        {"Date": [D(2024, 1, 31), D(2024, 12, 25)], "Item": ['Pipe, 5" wide', "Bolt"], "Amount": [1234.5, 99.9]},
    ),
    "excel_utf8_csv": Program("a.csv", b"\xef\xbb\xbfcity,n\r\nK\xc3\xb6ln,1\r\n", {"city": ["Köln"], "n": [1]}),
    "excel_unicode_text": Program(
        "a.txt", "Stadt\tAnzahl\r\nKöln\t1\r\nZürich\t20\r\n".encode("utf-16"), {"Stadt": ["Köln", "Zürich"], "Anzahl": [1, 20]}
    ),
    "excel_sep_line": Program(
        "a.csv", b'sep=;\r\na;b\r\n1;"x;y"\r\n', {"a": [1], "b": ["x;y"]}, ("first line names the delimiter",)
    ),
    "excel_mac_lines": Program("a.csv", b"city,n\rOslo,1\rRome,2\r", {"city": ["Oslo", "Rome"], "n": [1, 2]}),
    "excel_report": Program(
        "report.xlsx",
        _excel([["Sales 2024"], ["as of", D(2024, 3, 1)], [], ["city", "when", "amount"], ["Oslo", D(2024, 1, 31), 5],
                ["Rome", D(2024, 2, 1), 2.5]]),
        {"city": ["Oslo", "Rome"], "when": BOOKED[:2], "amount": [5.0, 2.5]},
        ("above the header",),
    ),
    "excel_merged": Program(
        "q.xlsx",
        _excel([["", "2023", "", "2024", ""], ["city", "Q1", "Q2", "Q1", "Q2"], ["Oslo", 1, 2, 3, 4]], "B1:C1"),
        {"city": ["Oslo"], "2023 Q1": [1], "2023 Q2": [2], "2024 Q1": [3], "2024 Q2": [4]},
        ("two rows",),
    ),
    "excel_in_the_middle": Program(
        "m.xlsx", _excel([["a", "b"], [1, "x"], [2, "y"]], start=(5, 3)), {"a": [1, 2], "b": ["x", "y"]}
    ),
    "libreoffice_csv": Program(
        "calc.csv", '"Name","Wert","Am"\n"Ä",1.5,2024-01-31\n"B",2,2024-02-01\n'.encode(),
        {"Name": ["Ä", "B"], "Wert": [1.5, 2.0], "Am": BOOKED[:2]},
    ),
    "google_sheets_csv": Program(
        "sheet.csv", b"Timestamp,Answer,Score\r\n2024-01-31 10:00:00,\"two\nlines\",5\r\n2024-02-01 11:30:00,,",
        {"Timestamp": [datetime(2024, 1, 31, 10), datetime(2024, 2, 1, 11, 30)], "Answer": ["two\nlines", None],
         "Score": [5, None]},
    ),
    "pandas_to_csv": Program(
        "p.csv", _pandas(lambda frame, out: frame.to_csv(out)), {"column_1": [0, 1, 2], **PLAIN}, ("without a name: column_1",)
    ),
    "pandas_to_csv_de": Program(
        "p.csv", _pandas(lambda frame, out: frame.to_csv(out, sep=";", decimal=",", index=False)), PLAIN,
        ("delimiter ';'", "decimal comma"),
    ),
    "pandas_to_excel": Program(
        "p.xlsx", _pandas(lambda frame, out: frame.to_excel(out)), {"column_1": [0, 1, 2], **PLAIN}, ("without a name",)
    ),
    "pandas_to_json": Program(
        "p.json", _pandas(lambda frame, out: frame.to_json(out, orient="records")), PLAIN
    ),
    "r_write_csv": Program(
        "r.csv", b'"","city","n","share"\n"1","Oslo",1,0.5\n"2","K\xc3\xb6ln",2,NA\n"3",NA,3,2.5\n', {"column_1": [1, 2, 3], **PLAIN},
        ("without a name: column_1",),
    ),
    "r_write_csv2": Program(
        "r.csv", b'"city";"n";"share"\n"Oslo";1;0,5\n"K\xc3\xb6ln";2;NA\n;3;2,5\n', PLAIN, ("decimal comma",)
    ),
    "r_write_table": Program("r.tsv", b"city\tn\tshare\nOslo\t1\t0.5\nK\xc3\xb6ln\t2\tNA\nNA\t3\t2.5\n", PLAIN),
    "stata_export": Program(
        "s.csv", b"id,wage,since\n1,12.5,31jan2024\n2,.,01feb2024\n", {"id": [1, 2], "wage": [12.5, None], "since": BOOKED[:2]},
        ("read as missing",),
    ),
    "sap_list": Program(
        "sap.txt",
        b"Buchungen des Monats\r\n\r\nKonto|Text|Betrag|Datum|\r\n0000400000|Miete|1.200,00|31.01.2024|\r\n"
        b"0000410000|Strom|89,10|01.02.2024|\r\n",
        {"Konto": ["0000400000", "0000410000"], "Text": ["Miete", "Strom"], "Betrag": [1200.0, 89.1], "Datum": BOOKED[:2]},
        ("above the header", "delimiter '|'"),
    ),
    "bank_statement": Program(
        "umsaetze.csv",
        '"Kontonummer:";"DE00 1234"\n"Von:";"01.01.2024"\n"Bis:";"29.02.2024"\n\n"Buchungstag";"Empfänger";"Betrag (EUR)"\n'
        '"31.01.2024";"Bäcker";"-3,50"\n"01.02.2024";"Lohn";"2.500,00"\n"29.02.2024";"Miete";"-900,00"\n'.encode("latin-1"),
        {"Buchungstag": BOOKED, "Empfänger": ["Bäcker", "Lohn", "Miete"], "Betrag (EUR)": [-3.5, 2500.0, -900.0]},
        ("above the header", "encoding windows-1252"),
    ),
    "database_dump": Program(
        "dump.csv", b"id,payload,at\n1,\\N,2024-01-31T10:00:00Z\n2,\"{\"\"a\"\": 1}\",2024-02-01T00:00:00+02:00\n",
        {"id": [1, 2], "payload": ["\\N", '{"a": 1}'],
         "at": [pd.Timestamp("2024-01-31T10:00:00Z"), pd.Timestamp("2024-01-31T22:00:00Z")]},
    ),
    "weather_station": Program(
        "w.csv", b"# station 7\n# units: C, mm\ntime,temp,rain\n2024-01-31 00:00,-1.5,0\n2024-02-01 00:00,2.0,1.5\n",
        {"time": [datetime(2024, 1, 31), datetime(2024, 2, 1)], "temp": [-1.5, 2.0], "rain": [0.0, 1.5]},
        ("above the header",),
    ),
}  # fmt: skip


def test_there_are_at_least_twenty() -> None:
    assert len(PROGRAMS) >= 20


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_of_a_program_is_read_without_an_option(tmp_path: Path, program: str) -> None:
    case = PROGRAMS[program]
    (tmp_path / case.name).write_bytes(case.content)
    frame, notes, column_notes, _ = read(tmp_path / case.name, case.name)
    assert frame.to_dict(as_series=False) == case.expected
    reported = " ".join([*notes, *(f"{name}: {note}" for name, note in column_notes.items())])
    assert [part for part in case.notes if part not in reported] == [], reported


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_ingest_reads_the_same_rows(tmp_path: Path, program: str) -> None:
    case = PROGRAMS[program]
    if case.name.endswith(".json"):
        pytest.skip("records of JSON are no rows of a table")
    (tmp_path / case.name).write_bytes(case.content)
    frame = read(tmp_path / case.name, case.name)[0]
    numbers = {name for name, dtype in frame.schema.items() if dtype.is_numeric()}
    table = open_rows(tmp_path / case.name, case.name, NOTHING_STATED, numbers.__contains__)
    rows = list(table.rows)
    assert list(table.names) == frame.columns
    assert not any(isinstance(row, BadRow) for row in rows)
    for name in numbers:
        assert [row[name] for row in rows if isinstance(row, dict)] == frame[name].to_list()
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    for name in texts:
        cells = [row[name] for row in rows if isinstance(row, dict)]
        assert [None if cell in ("", "NA") else cell for cell in cells] == frame[name].to_list()
    assert all(
        math.isfinite(row[name]) for row in rows if isinstance(row, dict) for name in numbers if row[name] is not None
    )
