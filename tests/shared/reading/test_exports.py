"""Exports of shops, banks, offices, loggers and spreadsheets, made here in their form, with their values."""

from __future__ import annotations

import io
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from shared.reading.read import read
from shared.reading.source import Unreadable

D, T = date, datetime


def _book(*sheets: tuple[str, str, list[list[Any]], tuple[str, ...]]) -> bytes:
    """Return a workbook of sheets: title, state, rows, merged cells."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, state, rows, merged in sheets:
        sheet = book.create_sheet(title)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
        for cells in merged:
            sheet.merge_cells(cells)
    book.active = next(at for at, (_, state, *_) in enumerate(sheets) if state == "visible")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


#: name of the file: its content, the table that it means, and what has to be reported
EXPORTS: dict[str, tuple[str | bytes, dict[str, list[Any]], tuple[str, ...]]] = {
    "qualtrics.csv": (
        'StartDate,Finished,Q1,Q2\nStart Date,Finished,How satisfied are you?,"Age, in years"\n'
        '"{""ImportId"":""startDate"",""timeZone"":""UTC""}","{""ImportId"":""finished""}","{""ImportId"":""QID1""}",'
        '"{""ImportId"":""QID2""}"\n2024-01-31 10:00:00,True,5,33\n2024-02-01 11:00:00,False,4,41\n',
        {"StartDate": [T(2024, 1, 31, 10), T(2024, 2, 1, 11)], "Finished": [True, False], "Q1": [5, 4], "Q2": [33, 41]},
        ("import ids below the names",),
    ),
    "qualtrics.xlsx": (
        _book(("S", "visible", [["Q1", "Q2"], ["How?", "Age"], ['{"ImportId":"QID1"}', '{"ImportId":"QID2"}'],
                                [5, 33], [4, 41]], ())),
        {"Q1": [5, 4], "Q2": [33, 41]},
        ("import ids below the names",),
    ),
    "surveymonkey.csv": (
        "Respondent ID,Start Date,What do you like?,,,Any comments?\n"
        ",,Price,Quality,Other (please specify),Open-Ended Response\n"
        "118000000001,01/31/2024 10:00:00 AM,Price,,,none\n118000000002,02/01/2024 11:00:00 AM,,Quality,Colour,\n",
        {"Respondent ID": [118000000001, 118000000002], "Start Date": [T(2024, 1, 31, 10), T(2024, 2, 1, 11)],
         "What do you like? Price": ["Price", None], "What do you like? Quality": [None, "Quality"],
         "What do you like? Other (please specify)": [None, "Colour"],
         "Any comments? Open-Ended Response": ["none", None]},
        ("in two rows",),
    ),
    "put_together.csv": (
        "day,n\n2024-01-31,1\n\ufeffday,n\n2024-02-01,2\nday,n\n2024-02-02,3\n",
        {"day": [D(2024, 1, 31), D(2024, 2, 1), D(2024, 2, 2)], "n": [1, 2, 3]},
        ("2 rows left out: the names of the columns again",),
    ),
    "merged.xlsx": (
        _book(("S", "visible", [["Region", "City", "n"], ["North", "Oslo", 1], [None, "Bergen", 2],
                                [None, "Voss", 4], ["South", "Rome", 3]],
               ("A2:A4",))),
        {"Region": ["North", None, None, "South"], "City": ["Oslo", "Bergen", "Voss", "Rome"], "n": [1, 2, 4, 3]},
        ("1 cell merged over several rows",),
    ),
    "accounting.csv": (
        'k,amt\na," $1,234.50 "\nb, $(99.00)\nc," $(1,000.25)"\nd, $-   \n',
        {"k": ["a", "b", "c", "d"], "amt": [1234.5, -99.0, -1000.25, 0.0]},
        ("numbers in $, numbers in brackets are negative, a dash for the number is zero",),
    ),
    "accounting_de.csv": (
        "k;b\na; 1.234,50 € \nb; -   € \nc;-5,00 €\n",
        {"k": ["a", "b", "c"], "b": [1234.5, 0.0, -5.0]},
        ("numbers in €, a dash for the number is zero",),
    ),
    "people.csv": (
        "1,Anna,Berlin\n2,Bo,Rome\n3,Cy,Oslo\n",
        {"column_1": [1, 2, 3], "column_2": ["Anna", "Bo", "Cy"], "column_3": ["Berlin", "Rome", "Oslo"]},
        ("no header",),
    ),
    "census.data": (
        "39,State,77516,Bachelors\n50,Private,83311,Bachelors\n38,Private,215646,HS\n",
        {"column_1": [39, 50, 38], "column_2": ["State", "Private", "Private"], "column_3": [77516, 83311, 215646],
         "column_4": ["Bachelors", "Bachelors", "HS"]},
        ("no header",),
    ),
    "questions.csv": (
        "1,2,3a\n5,4,yes\n3,4,no\n", {"1": [5, 3], "2": [4, 4], "3a": ["yes", "no"]}, (),
    ),
    "positions.csv": ("0,1,2\n0,x,5\n1,y,6\n", {"0": [0, 1], "1": ["x", "y"], "2": [5, 6]}, ()),
    "heights.csv": (
        '"Name", "Height, cm", "Note"\n"Alex",  170, "x, ""y"""\n"Bert", 168.5, "z"\n',
        {"Name": ["Alex", "Bert"], "Height, cm": [170.0, 168.5], "Note": ['x, "y"', "z"]},
        ("blanks between a delimiter and a quote",),
    ),
    "pipes.csv": (
        'k,what\n1, 5" pipe\n2, 6" pipe\n', {"k": [1, 2], "what": [' 5" pipe', ' 6" pipe']}, (),
    ),
    "camt.csv": (
        '"Auftragskonto";"Buchungstag";"Verwendungszweck";"Verwendungszweck";"Betrag";"Waehrung"\r\n'
        '"DE89370400440532013000";"31.01.24";"Müller GmbH";"RE 12";"-12,50";"EUR"\r\n'
        '"DE89370400440532013000";"01.02.24";"Lohn";"";"1.250,00";"EUR"\r\n'.encode("cp1252"),
        {"Auftragskonto": ["DE89370400440532013000"] * 2, "Buchungstag": ["31.01.24", "01.02.24"],
         "Verwendungszweck": ["Müller GmbH", "Lohn"], "Verwendungszweck_2": ["RE 12", None], "Betrag": [-12.5, 1250.0],
         "Waehrung": ["EUR", "EUR"]},
        ("Verwendungszweck_2", "years of two digits", "decimal comma"),
    ),
    "jira.csv": (
        "Summary,Issue key,Issue id,Created,Labels,Labels,Comment,Comment\n"
        'Fix it,P-1,10001,31/Jan/24 10:15 AM,ui,,"a ""b""\nc",\nAdd it,P-2,10002,05/Feb/24 4:05 PM,db,api,,x\n',
        {"Summary": ["Fix it", "Add it"], "Issue key": ["P-1", "P-2"], "Issue id": [10001, 10002],
         "Created": [T(2024, 1, 31, 10, 15), T(2024, 2, 5, 16, 5)], "Labels": ["ui", "db"], "Labels_2": [None, "api"],
         "Comment": ['a "b"\nc', None], "Comment_2": [None, "x"]},
        ("Labels_2, Comment_2",),
    ),
    "ga4.csv": (
        "# ----------------------------------------\n# Free form 1\n# Account: Shop\n#\n# Start date: 20240101\n"
        "# End date: 20240131\n# ----------------------------------------\nDate,Sessions,Engagement rate\n"
        "20240101,120,0.55\n20240102,98,0.61\n",
        {"Date": [20240101, 20240102], "Sessions": [120, 98], "Engagement rate": [0.55, 0.61]},
        ("above the header",),
    ),
    "sap.txt": (
        "Konto\tText\tBetrag\tWährg\tBuch.dat.\r\n0000400000\tMiete\t1.234,56-\tEUR\t31.01.2024\r\n"
        "0000410000\tStrom\t89,10\tEUR\t01.02.2024\r\n".encode("utf-16"),
        {"Konto": ["0000400000", "0000410000"], "Text": ["Miete", "Strom"], "Betrag": [-1234.56, 89.1],
         "Währg": ["EUR", "EUR"], "Buch.dat.": [D(2024, 1, 31), D(2024, 2, 1)]},
        ("encoding utf-16",),
    ),
    "totals.xlsx": (
        _book(("R", "visible", [["city", "n", "share"], ["Oslo", 1, 0.25], ["Rome", 2, 0.75], ["Total", 3, 1.0]], ())),
        {"city": ["Oslo", "Rome", "Total"], "n": [1, 2, 3], "share": [0.25, 0.75, 1.0]},
        ("total",),
    ),
    "hidden.xlsx": (
        _book(
            ("Lists", "hidden", [["x"], [1]], ()),
            ("Codes", "veryHidden", [["y"], [2]], ()),
            ("Data", "visible", [["city", "2023", None, "2024", None], [None, "Q1", "Q2", "Q1", "Q2"],
                                 ["Oslo", 1, 2, 3, 4.5], ["Rome", 5, 6, 7, 8]], ("B1:C1", "D1:E1", "A1:A2")),
        ),
        {"city": ["Oslo", "Rome"], "2023 Q1": [1, 5], "2023 Q2": [2, 6], "2024 Q1": [3, 7], "2024 Q2": [4.5, 8.0]},
        ("sheet 'Data'", "two rows"),
    ),
    "typed.xlsx": (
        _book(("S", "visible", [["on", "ok", "rate", "code"], [T(2024, 1, 31), True, 0.125, "007"],
                                [T(2024, 2, 1), False, "n/a", "012"]], ())),
        {"on": [D(2024, 1, 31), D(2024, 2, 1)], "ok": [True, False], "rate": [0.125, None], "code": ["007", "012"]},
        ("sheet 'S'",),
    ),
    "ventes.csv": (
        "Prénom;Société;Montant\r\nZoé;Crêperie;1\u00a0234,50 €\r\nLuc;Café;99,00 €\r\n".encode("cp1252"),
        {"Prénom": ["Zoé", "Luc"], "Société": ["Crêperie", "Café"], "Montant": [1234.5, 99.0]},
        ("windows-1252", "€"),
    ),
    "unicode.txt": (
        'Name\tNote\tAmount\r\nÅse\t"two\nlines"\t"1,234.50"\r\nBo\t\t5\r\n'.encode("utf-16-le"),
        {"Name": ["Åse", "Bo"], "Note": ["two\nlines", None], "Amount": [1234.5, 5.0]},
        ("utf-16",),
    ),
    "r2.csv": (
        '"";"city";"share";"on"\n"1";"Oslo";0,5;2024-01-31\n"2";"Køge";NA;2024-02-01\n',
        {"column_1": [1, 2], "city": ["Oslo", "Køge"], "share": [0.5, None], "on": [D(2024, 1, 31), D(2024, 2, 1)]},
        ("decimal comma", "without a name"),
    ),
    "stata.csv": (
        'id,region,income,since,_merge\n1,North,1200.5,31jan2024,matched (3)\n2,South,.a,.,"master only (1)"\n',
        {"id": [1, 2], "region": ["North", "South"], "income": [1200.5, None], "since": [D(2024, 1, 31), None],
         "_merge": ["matched (3)", "master only (1)"]},
        ("'.a' x 1",),
    ),
    "toa5.dat": (
        '"TOA5","Hut","CR1000","1234","CR1000.Std.32","CPU:p.CR1","5678","Ten"\r\n'
        '"TIMESTAMP","RECORD","BattV_Min","AirTC_Avg","RH"\r\n"TS","RN","Volts","Deg C","%"\r\n'
        '"","","Min","Avg","Smp"\r\n'
        '"2024-01-31 00:00:00",0,12.6,-1.5,81.2\r\n"2024-01-31 00:10:00",1,12.5,-1.25,"NAN"\r\n'
        '"2024-01-31 00:20:00",2,12.5,-1,80\r\n',
        {"TIMESTAMP": [T(2024, 1, 31), T(2024, 1, 31, 0, 10), T(2024, 1, 31, 0, 20)], "RECORD": [0, 1, 2],
         "BattV_Min": [12.6, 12.5, 12.5], "AirTC_Avg": [-1.5, -1.25, -1.0], "RH": [81.2, None, 80.0]},
        ("TOA5",),
    ),
    "hobo.csv": (
        '"Plot Title: Barn"\n"#","Date Time, GMT+01:00","Temp, °C","RH, %"\n1,01/31/24 12:00:00 AM,5.25,80.1\n'
        "2,01/31/24 12:10:00 AM,5.3,80\n",
        {"#": [1, 2], "Date Time, GMT+01:00": ["01/31/24 12:00:00 AM", "01/31/24 12:10:00 AM"], "Temp, °C": [5.25, 5.3],
         "RH, %": [80.1, 80.0]},
        ("above the header", "two digits"),
    ),
    "inverter.csv": (
        "Datum und Uhrzeit;Energie WR1;Leistung\n[dd.MM.yyyy HH:mm];[Wh];[W]\n31.01.2024 00:05;12,5;3\n"
        "31.01.2024 00:10;13;4\n",
        {"Datum und Uhrzeit": [T(2024, 1, 31, 0, 5), T(2024, 1, 31, 0, 10)], "Energie WR1": [12.5, 13.0],
         "Leistung": [3, 4]},
        ("units",),
    ),
    "events.jsonl": (
        '{"id": 1, "user": {"name": "Åse", "tags": ["x", "y"]}, "total": 12.5}\n'
        '{"id": 2, "user": {"name": "Bo", "tags": []}, "total": null, "items": [{"sku": "a", "n": 2}]}\n',
        {"id": [1, 2], "user": [{"name": "Åse", "tags": ["x", "y"]}, {"name": "Bo", "tags": []}], "total": [12.5, None],
         "items": [None, [{"sku": "a", "n": 2}]]},
        (),
    ),
    "stripe.csv": (
        'id,Created (UTC),Amount,Currency,Captured\nch_1,2024-01-31 10:15,"1,250.00",usd,true\n'
        "ch_2,2024-02-01 08:00,9.90,usd,false\n",
        {"id": ["ch_1", "ch_2"], "Created (UTC)": [T(2024, 1, 31, 10, 15), T(2024, 2, 1, 8)], "Amount": [1250.0, 9.9],
         "Currency": ["usd", "usd"], "Captured": [True, False]},
        (),
    ),
    "paypal.csv": (
        '\ufeff"Date","Time","TimeZone","Gross","Fee"\n"31/01/2024","10:15:00","CET","-1,234.50","0.00"\n'
        '"01/02/2024","08:00:05","CET","20.00","-0.85"\n',
        {"Date": [D(2024, 1, 31), D(2024, 2, 1)], "Time": ["10:15:00", "08:00:05"], "TimeZone": ["CET", "CET"],
         "Gross": [-1234.5, 20.0], "Fee": [0.0, -0.85]},
        ("times of day",),
    ),
    "genesis.csv": (
        "Tabelle: 12411-0001\nBevölkerung: Deutschland, Stichtag;;\nFortschreibung des Bevölkerungsstandes;;\n"
        "Stichtag;Bevölkerungsstand;Bevölkerungsstand\n;Anzahl;Veränderung\n31.12.2021;83237124;0,1\n"
        "31.12.2022;84358845;1,3\n31.12.2023;84700000;0,4\n31.12.2024;84500000;-0,2\n"
        "__________\n© Statistisches Bundesamt (Destatis), 2024\nStand: 05.03.2024 / 10:11:12\n",
        {"Stichtag": [D(year, 12, 31) for year in range(2021, 2025)],
         "Bevölkerungsstand Anzahl": [83237124, 84358845, 84700000, 84500000],
         "Bevölkerungsstand Veränderung": [0.1, 1.3, 0.4, -0.2]},
        ("above the header", "two rows", "remarks"),
    ),
    "eurostat.tsv": (
        "freq,unit,geo\\TIME_PERIOD\t2021 \t2022 \nA,NR,DE\t83155031 \t83237124 \nA,NR,FR\t: \t67871925 p\n",
        {"freq": ["A", "A"], "unit": ["NR", "NR"], "geo": ["DE", "FR"], "2021": [83155031, None],
         "2022": [83237124, 67871925]},
        ("read as missing", "the first column was split: freq, unit, geo", "left out: p x 1"),
    ),
    "worldbank.csv": (
        '"Data Source","World Development Indicators",\n\n"Last Updated Date","2024-01-31",\n\n'
        '"Country Name","Country Code","2021","2022",\n"Aruba","ABW","3.1","",\n"Angola","AGO","4","5.5",\n',
        {"Country Name": ["Aruba", "Angola"], "Country Code": ["ABW", "AGO"], "2021": [3.1, 4.0], "2022": [None, 5.5]},
        ("above the header",),
    ),
    "ads.csv": (
        'Campaign report\n"January 1, 2024 - January 31, 2024"\nCampaign,Clicks,CTR,Cost\nBrand,120,3.50%,"1,234.50"\n'
        'Search,30,1.20%,99.00\nTotal: Campaigns,150,2.90%,"1,333.50"\n',
        {"Campaign": ["Brand", "Search", "Total: Campaigns"], "Clicks": [120, 30, 150],
         "CTR": ["3.50%", "1.20%", "2.90%"], "Cost": [1234.5, 99.0, 1333.5]},
        ("above the header", "total"),
    ),
    "salesforce.csv": (
        '"Account","Amount","Close Date"\n"Acme","1200","1/31/2024"\n"Öko","","2/15/2024"\n\n\n"Pipeline report"\n'
        '"Copyright (c) 2000-2024 salesforce.com, inc. All rights reserved."\n"Confidential - Do Not Distribute"\n',
        {"Account": ["Acme", "Öko"], "Amount": [1200, None], "Close Date": [D(2024, 1, 31), D(2024, 2, 15)]},
        ("remarks",),
    ),
    "mysql.tsv": (
        "id\tname\tscore\tseen\n1\t\\N\t5\t\\N\n2\tBob\t\\N\t2024-01-31 10:00:00\n",
        {"id": [1, 2], "name": ["\\N", "Bob"], "score": [5, None], "seen": [None, T(2024, 1, 31, 10)]},
        ("read as missing",),
    ),
    "ledger.csv": (
        'Date,Account,Amount\n01/31/2024,Rent,"($1,234.50)"\n02/15/2024,Sales,$99.00\n',
        {"Date": [D(2024, 1, 31), D(2024, 2, 15)], "Account": ["Rent", "Sales"], "Amount": [-1234.5, 99.0]},
        ("$",),
    ),
    "survey.csv": (
        '"id","submitdate","q1[SQ001]","q1[SQ002]"\n"1","2024-01-31 10:00:00","Yes","N/A"\n"2","","No","3"\n',
        {"id": [1, 2], "submitdate": [T(2024, 1, 31, 10), None], "q1[SQ001]": ["Yes", "No"], "q1[SQ002]": [None, 3]},
        ("'N/A' x 1",),
    ),
    "dwd.txt": (
        "STATIONS_ID;MESS_DATUM; TMK; RSK;eor\r\n         44;20240131;   5.2;   0.0;eor\r\n"
        "         44;20240201;  -1.5;   1.2;eor\r\n",
        {"STATIONS_ID": [44, 44], "MESS_DATUM": [20240131, 20240201], "TMK": [5.2, -1.5], "RSK": [0.0, 1.2],
         "eor": ["eor", "eor"]},
        (),
    ),
    "long_dates.csv": (
        "Termin;Ort;Betrag\nMittwoch, 31. Januar 2024;Köln;1.200\nFreitag, 1. März 2024;Bonn;12.500\n",
        {"Termin": [D(2024, 1, 31), D(2024, 3, 1)], "Ort": ["Köln", "Bonn"], "Betrag": [1.2, 12.5]},
        ("state the decimal sign",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('a,b\n1,"x\n\nNote: ""y"""\n', [(1, 'x\n\nNote: "y"')]),
        ('a,b\n1,"x\n\n""Note"" y\nz"\n', [(1, 'x\n\n"Note" y\nz')]),
        ('a,b\n"",7\n\n"","x\n\nNote"\n', [(None, "7"), (None, "x\n\nNote")]),
        ("Key,Labels,Labels,Points\nA,x,,TBD\nB,5,,3\n", [("A", "x", None, "TBD"), ("B", "5", None, "3")]),
        (",name,v\nr1,x,y\nr2,z,5\n", [("r1", "x", "y"), ("r2", "z", "5")]),
        ("a,b,c\nx,1\n", None),
    ],
)
def test_a_row_that_resembles_remarks_or_names_is_a_row(
    tmp_path: Path, content: str, rows: list[tuple[Any, ...]] | None
) -> None:
    (tmp_path / "a.csv").write_text(content)
    if rows is None:
        with pytest.raises(Unreadable, match="line 2 has 2 fields, the header has 3"):
            read(tmp_path / "a.csv", "a.csv")
    else:
        assert read(tmp_path / "a.csv", "a.csv").frame.rows() == rows


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_without_an_option(tmp_path: Path, name: str) -> None:
    content, expected, reported = EXPORTS[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    frame, notes, columns, _ = read(tmp_path / name, name)
    assert frame.to_dict(as_series=False) == expected
    text = " ".join([*notes, *(f"{column}: {note}" for column, note in columns.items())])
    assert [part for part in reported if part not in text] == [], text
