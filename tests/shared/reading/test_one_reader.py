"""The same files in all readers: a transform's data, an ingest's records, the rows that the API shows."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.gateway.tables.forms import CannotHold
from services.gateway.tables.opened import connect, open_table
from services.gateway.tables.rows import rows
from services.search.records import files
from services.search.records.notes import Notes
from services.search.records.shape import Refused
from shared.contracts.search import RecordMapping, TableSpec
from shared.errors import UnreadableFile
from shared.reading.columns import profile
from shared.reading.large_text import to_parquet
from shared.reading.names import NUMBERED, numbered, warnings_of
from shared.reading.read import TableRead, read
from shared.reading.rows import json_rows
from shared.reading.source import Unreadable
from shared.reading.stated import Stated


def _excel(*table: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in table:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _with_hidden_sheet(buffer: io.BytesIO) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.sheet_state = "hidden"
    book.active.append(["x"])
    book.active.append([7])
    sheet = book.create_sheet("Sales")
    sheet.append(["sku", "n"])
    sheet.append(["a", 1])
    book.active = sheet
    book.save(buffer)


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _zipped(**members: str) -> bytes:
    def write(buffer: io.BytesIO) -> None:
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in members.items():
                archive.writestr(name.replace("_csv", ".csv"), text)

    return _written(write)


SALES = [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]
TABLE = pa.table({"sku": ["a", "b"], "n": [1, 2], "share": [0.5, None]})
#: name of the file: its content, and the rows that it means
FILES: dict[str, tuple[str | bytes, list[list[Any]]]] = {
    "plain.csv": ("sku,n\na,1\nb,2\n", [["a", 1], ["b", 2]]),
    "german.csv": ("a;p\nx;1,5\ny;2,5\n", [["x", 1.5], ["y", 2.5]]),
    "german_numbers.csv": ("a;b\n1,5;2,7\n3,5;4,7\n", [[1.5, 2.7], [3.5, 4.7]]),
    "german_title.csv": ("Bericht\n\na;b\n1,5;2,7\n3,5;4,7\n", [[1.5, 2.7], [3.5, 4.7]]),
    "trailing_minus.csv": ("a;p\nx;1.234,50-\ny;3,00\n", [["x", -1234.5], ["y", 3.0]]),
    "sep_line.csv": ("sep=\t\na\tb\n1\t2\n", [[1, 2]]),
    "latin1.csv": ("name,n\nMüller,1\n".encode("latin-1"), [["Müller", 1]]),
    "latin1_name.csv": ("Größe,n\nx,1\n".encode("latin-1"), [["x", 1]]),
    "utf16.csv": ("name,n\nMüller,1\n".encode("utf-16"), [["Müller", 1]]),
    "utf32.csv": ("name,n\nMüller,1\n".encode("utf-32"), [["Müller", 1]]),
    "mark.csv": (b"\xef\xbb\xbfname,n\nM,1\n", [["M", 1]]),
    "bad_byte.csv": ("name,n\nÄÖÜ,1\n".encode() + b"x\xe4,2\n", [["ÄÖÜ", 1], ["x\ufffd", 2]]),
    "mac.csv": ("a,b\r1,2\r3,4\r", [[1, 2], [3, 4]]),
    "blank_lines.csv": ("a,b\n1,2\n\n3,4\n\n", [[1, 2], [3, 4]]),
    "no_name.csv": (",a\n0,x\n1,y\n", [[0, "x"], [1, "y"]]),
    "trailing.csv": ("a,b\n1,2,\n3,4,\n", [[1, 2], [3, 4]]),
    "years.csv": ("city,2023,2024\nx,1,2\n", [["x", 1, 2]]),
    "zeros.csv": ("zip,n\n01234,1\n99999,2\n", [["01234", 1], ["99999", 2]]),
    "long_number.csv": ("k,n\na,12345678901234567\nb,1.5\n", [["a", "12345678901234567"], ["b", "1.5"]]),
    "missing.csv": ("k,n\na,NA\nb,-\nc,3\n", [["a", None], ["b", None], ["c", 3]]),
    "quotes.csv": ('a,b\n"x, ""y""",1\n"two\nlines",2\n', [['x, "y"', 1], ["two\nlines", 2]]),
    "backslash.csv": ('a,b\n"x \\"y\\" z",1\n', [['x "y" z', 1]]),
    "thousands.csv": ('a,b\nx,"1,234.50"\ny,3\n', [["x", 1234.5], ["y", 3.0]]),
    "dates.csv": ("a,d\nx,31.01.2024\ny,01.02.2024\n", [["x", "2024-01-31"], ["y", "2024-02-01"]]),
    "unclear_dates.csv": ("a,d\nx,03/04/2024\ny,05/04/2024\n", [["x", "03/04/2024"], ["y", "05/04/2024"]]),
    "truth.csv": ("a,ok\nx,TRUE\ny,false\n", [["x", True], ["y", False]]),
    "blanks.dat": ("   x      y\n  1.0   2.5\n  2.0   3.5\n", [[1.0, 2.5], [2.0, 3.5]]),
    "words.csv": ("street address\nMain 12\nHill 3\nEnd 7\n", [["Main 12"], ["Hill 3"], ["End 7"]]),
    "names.csv": ("name\nAnna Berg 1\nBo Karl 2\n", [["Anna Berg 1"], ["Bo Karl 2"]]),
    "r_table.dat": ('"a" "b"\n"1" 1 "x y"\n"2" 2 "z"\n', [[1, 1, "x y"], [2, 2, "z"]]),
    "r_table.tsv": ("a\tb\nr1\t1\tx\nr2\t2\ty\n", [["r1", 1, "x"], ["r2", 2, "y"]]),
    "r_table.csv": ('"a","b"\n"1",1,"x"\n"2",2,"y"\n', [[1, 1, "x"], [2, 2, "y"]]),
    "pipes.txt": ("Konto|Betrag\n0001|12,5\n0002|3,5\n", [["0001", 12.5], ["0002", 3.5]]),
    "plain.csv.gz": (gzip.compress(b"sku,n\na,1\nb,2\n"), [["a", 1], ["b", 2]]),
    "plain.json": (json.dumps(SALES), [["a", 1], ["b", 2]]),
    "company.json": (json.dumps({"company": "x", "sales": SALES}), [["a", 1], ["b", 2]]),
    "company_lines.json": (json.dumps({"company": "x", "sales": SALES}, indent=1), [["a", 1], ["b", 2]]),
    "page.json": (json.dumps({"results": SALES, "next": None}), [["a", 1], ["b", 2]]),
    "names_first.json": (json.dumps([["sku", "n"], ["a", 1], ["b", 2]]), [["a", 1], ["b", 2]]),
    "by_key.json": (json.dumps({"u1": {"sku": "a"}, "u2": {"sku": "b"}}), [["u1", "a"], ["u2", "b"]]),
    "columns.json": (json.dumps({"sku": ["a", "b"], "n": [1, 2]}), [["a", 1], ["b", 2]]),
    "split.json": (json.dumps({"columns": ["sku", "n"], "data": [["a", 1], ["b", 2]]}), [["a", 1], ["b", 2]]),
    "one.json": (json.dumps({"sku": "a", "n": 1}), [["a", 1]]),
    "several.json": ('{\n "sku": "a"\n}\n{\n "sku": "b"\n}\n', [["a"], ["b"]]),
    "lines.json": ('{"sku": "a"}\n{"sku": "b"}\n', [["a"], ["b"]]),
    "lines.jsonl": ('\n{"sku": "a", "n": 1}\r\n\r\n{"sku": "b", "n": 2}', [["a", 1], ["b", 2]]),
    "rows.jsonl": ("[1,2.5]\n[3,null]\n", [[1, 2.5], [3, None]]),
    "rows": ("[1,2.5]\n[3,null]\n", [[1, 2.5], [3, None]]),
    "rows.json": ("[[1,2.5],[3,null]]", [[1, 2.5], [3, None]]),
    "names_above.jsonl": ('["sku","n"]\n["a",1]\n\n["b",2]\n', [["a", 1], ["b", 2]]),
    "lists.jsonl": ('[{"sku":"a"},{"sku":"b"}]\n[{"sku":"c"}]\n', [["a"], ["b"], ["c"]]),
    "spaced.csv": ('"a", "b"\n"x, y", "z"\n1, "2"\n', [["x, y", "z"], ["1", "2"]]),
    "late_field.jsonl": ('{"a": 1}\n{"a": 2, "b": {"c": [1]}}\n', [[1, None], [2, {"c": [1]}]]),
    "utf16.json": (json.dumps(SALES).encode("utf-16"), [["a", 1], ["b", 2]]),
    "book.xlsx": (_excel(["sku", "n"], ["a", 1], ["b", 2.5]), [["a", 1.0], ["b", 2.5]]),
    "title.xlsx": (_excel(["Sales"], [], ["sku", "n"], ["a", 1], ["b", 2]), [["a", 1], ["b", 2]]),
    "blank_rows.xlsx": (_excel(["sku", "n"], ["a", 1], [], ["b", 2], []), [["a", 1], ["b", 2]]),
    "marks.xlsx": (_excel(["sku", "n"], ["a", "NA"], ["b", 2]), [["a", None], ["b", 2]]),
    "dates.xlsx": (
        _excel(["d", "t"], [date(2024, 1, 31), time(10)], [date(2024, 2, 1), time(11, 30)]),
        [["2024-01-31", "10:00:00"], ["2024-02-01", "11:30:00"]],
    ),
    "two_rows.xlsx": (
        _excel(["Region", "Jan", "", "Feb"], ["", "Qty", "Rev", "Qty"], ["N", 1, 2, 3]), [["N", 1, 2, 3]],
    ),
    "hidden.xlsx": (_written(_with_hidden_sheet), [["a", 1]]),
    "formulas.xlsx": (_excel(["n", "twice"], [1, "=A2*2"], [2, "=A3*2"]), [[1, None], [2, None]]),
    "kinds.xlsx": (_excel(["a"], ["x"], [timedelta(hours=30)]), [["x"], ["30:00:00"]]),
    "texts.xlsx": (_excel(["id"], ["00123"], ["00456"]), [["00123"], ["00456"]]),
    "bank.xls": (
        "<html><head><style>td{}</style></head><body><table><tr><td>Bank</td></tr></table><table><tr><th>Tag</th>"
        "<th>Betrag</th></tr><tr><td rowspan=2>Mo</td><td>1.234,50</td></tr><tr><td>-3,5</td></tr></table></body>",
        [["Mo", 1234.5], ["Mo", -3.5]],
    ),
    "plain.parquet": (_written(lambda out: pq.write_table(TABLE, out)), [["a", 1, 0.5], ["b", 2, None]]),
    "plain.arrow": (_written(pl.DataFrame(TABLE).write_ipc), [["a", 1, 0.5], ["b", 2, None]]),
    "stream.arrows": (_written(pl.DataFrame(TABLE).write_ipc_stream), [["a", 1, 0.5], ["b", 2, None]]),
}  # fmt: skip

_PAIR = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])


def _arrow(open_writer: Callable[[io.BytesIO, pa.Schema], Any]) -> bytes:
    def write(buffer: io.BytesIO) -> None:
        with open_writer(buffer, _PAIR.schema) as writer:
            writer.write_table(_PAIR)

    return _written(write)


#: files with names that are used more than once: the names and the first row of each
REPEATED: dict[str, tuple[str | bytes, list[str], list[Any]]] = {
    "jira.csv": (
        "Key,Labels,Labels,Labels,Comment,Comment\nP-1,x,y,,first,\nP-2,,,,,\n",
        ["Key", "Labels", "Labels_2", "Labels_3", "Comment", "Comment_2"], ["P-1", "x", "y", "", "first", ""],
    ),
    "taken.csv": ("a,a_2,a,A_3,a\n1,2,3,4,5\n", ["a", "a_2", "a_4", "A_3", "a_5"], [1, 2, 3, 4, 5]),
    "unnamed.csv": (",a,,a\n1,2,3,4\n", ["column_1", "a", "column_3", "a_2"], [1, 2, 3, 4]),
    "title.csv": ("Report\n\nTag;Wert;Wert\nMo;1,5;2,5\n", ["Tag", "Wert", "Wert_2"], ["Mo", 1.5, 2.5]),
    "quoted.tsv": ('"a b"\t"a b"\nx\ty\n', ["a b", "a b_2"], ["x", "y"]),
    "latin1.csv": ("Größe,Größe\nx,y\n".encode("latin-1"), ["Größe", "Größe_2"], ["x", "y"]),
    "numbers.csv": ("5,5,7\n6,6,8\n7,5,9\n", ["column_1", "column_2", "column_3"], [5, 5, 7]),
    "years.csv": ("city,2023,2023\nx,1,2\n", ["city", "2023", "2023_2"], ["x", 1, 2]),
    "sheet.xlsx": (_excel(["a", "b", "a"], [1, 2, 3]), ["a", "b", "a_2"], [1, 2, 3]),
    "merged.xlsx": (
        _excel(["Region", "Jan", "", "Jan"], ["", "Qty", "Rev", "Qty"], ["N", 1, 2, 3]),
        ["Region", "Jan Qty", "Jan Rev", "Jan Qty_2"], ["N", 1, 2, 3],
    ),
    "page.xls": (
        "<table><tr><th>a</th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>", ["a", "a_2"], [1, 2],
    ),
    "names_first.json": (json.dumps([["a", "b", "a"], [1, 2, 3]]), ["a", "b", "a_2"], [1, 2, 3]),
    "split.json": (json.dumps({"columns": ["a", "a"], "data": [[1, 2], [3, 4]]}), ["a", "a_2"], [1, 2]),
    "pair.parquet": (_written(lambda out: pq.write_table(_PAIR, out)), ["a", "b", "a_2"], [1, 2, 3]),
    "pair.arrow": (_arrow(pa.ipc.new_file), ["a", "b", "a_2"], [1, 2, 3]),
    "pair.arrows": (_arrow(pa.ipc.new_stream), ["a", "b", "a_2"], [1, 2, 3]),
}  # fmt: skip

#: files that no reader takes: a part of the reason
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "open_quote.csv": ('a,b\n1,"x\n2,y\n3,z\n', "line 2: a quoted cell that begins here is not closed"),
    "hebrew.csv": ("שם,n\nדוד,1\nשרה,2\n".encode("cp1255"), "state its encoding"),
    "zero.csv": (b"a,b\n1,\x00x\n", "binary data"),
    "wide_rows.csv": ("a,b\nx,1,2\n", "line 2 has 3"),
    "torn_rows.jsonl": ("[1,2]\n[3]\n", "line 2 does not list 2 values"),
    "mixed_rows.jsonl": ('[1,2]\n{"a":1}\n', "line 2 is not a list"),
    "header_only.xlsx": (_excel(["a", "b"]), "no rows"),
    "sheet.xls": ('<?xml version="1.0"?>\n<Workbook><Worksheet/></Workbook>', "the file is XML"),
    "page.xls": ("<html><p>Nothing here</p></html>", "no table"),
    "comma.json": ('[{"a": 1},]', "JSON"),
    "cut.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 99)[:-9], "damaged"),
}  # fmt: skip


def _read(path: Path, options: dict[str, Any]) -> TableRead:
    return read(path, path.name, Stated.of(options))


def _shown(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the API shows of the file."""
    page = {"columns": [], "sort": [], "filter": [], "offset": 0, "limit": 100}
    with connect() as database:
        return rows(database, open_table(database, path, path.name, options), page)


def _records(
    path: Path, options: dict[str, Any], types: dict[str, Any], notes: Notes | None = None
) -> list[dict[str, Any]]:
    """Return the records that an ingest makes of the file, as rows."""
    notes = notes or Notes()
    with path.open("rb") as stream:
        spec, mapping = TableSpec(fields=types), RecordMapping(id=None)
        made = list(
            files.read(files.RecordFile(stream, "t", spec, "auto", path.name, mapping, Stated.of(options), notes))
        )
    refused = [record for record in made if isinstance(record, Refused)]
    if refused:
        raise UnreadableFile(refused[0].message)
    return [record["fields"] for record in made]  # type: ignore[index, misc]


def _declared(frame: pl.DataFrame) -> dict[str, str]:
    kinds = {pl.Int64: "integer", pl.Float64: "float", pl.Boolean: "bool", pl.Date: "datetime"}
    names = [name for name in frame.columns if " " not in name]  # which no field has
    return {name: kinds[type(frame.schema[name])] for name in names if type(frame.schema[name]) in kinds}


@pytest.mark.parametrize("name", FILES)
def test_every_reader_reads_the_same_rows(tmp_path: Path, name: str) -> None:
    content, expected = FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = _read(path, {})
    names = table.frame.columns
    assert [[row[each] for each in names] for row in json_rows(table.frame)] == expected
    shown = _shown(path, {})
    assert [each["name"] for each in shown["columns"]] == names
    assert shown["rows"] == expected
    assert shown["reading"]["format"] == table.found.format
    assert shown["notes"] == [*table.notes, *(f"{column}: {note}" for column, note in table.columns.items())]
    records = _records(path, {}, _declared(table.frame))
    days = {column for column, dtype in table.frame.schema.items() if dtype == pl.Date}
    ingested = [
        [str(row[each])[:10] if each in days and each in row else row.get(each) for each in names] for row in records
    ]
    assert ingested == expected


@pytest.mark.parametrize("name", REPEATED)
def test_every_reader_numbers_names_that_are_used_more_than_once(tmp_path: Path, name: str) -> None:
    content, names, first = REPEATED[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = _read(path, {})
    assert table.frame.columns == names
    assert [cell or "" for cell in table.frame.row(0)] == first
    made = [each for each in names if re.search("(?<!column)_[2-9]$", each) and f",{each}," not in str(content)]
    warnings = warnings_of(table.notes)
    assert warnings == [f"{NUMBERED}{', '.join(made)}"] * bool(made)
    shown = _shown(path, {})
    assert [each["name"] for each in shown["columns"]] == names
    assert [cell or "" for cell in shown["rows"][0]] == first
    assert warnings_of(shown["notes"]) == warnings
    notes = Notes()
    record = _records(path, {}, _declared(table.frame), notes)[0]
    assert [record.get(each, "") for each in names] == first
    assert warnings_of(notes.texts()) == warnings


def test_many_names_are_numbered_in_linear_time() -> None:
    names = ["a"] * 100_000 + [f"a_{at}" for at in range(2, 100_002)]
    assert len(set(numbered(names))) == len(names)


@pytest.mark.parametrize("name", REFUSED)
def test_every_reader_refuses_the_same_files(tmp_path: Path, name: str) -> None:
    content, why = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Unreadable, match=why):
        _read(path, {})
    with pytest.raises(CannotHold, match=why):
        _shown(path, {})
    with pytest.raises(UnreadableFile, match=why):
        _records(path, {}, {})


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("a.csv", "x\na;b\n1,5;-9\n", {"header_row": 2, "decimal": ",", "na_values": ["-9"]}, [[1.5, None]]),
        ("b.csv", "имя,n\nИван,1\n".encode("cp1251"), {"encoding": "windows-1251"}, [["Иван", 1]]),
        ("c.csv", "1,2\n3,4\n", {"header_row": 0}, [[1, 2], [3, 4]]),
        ("d.csv", "a#b\n1#2\n", {"delimiter": "#"}, [[1, 2]]),
        ("e.csv", "junk,junk\na,b\n1,2\n", {"skip": 1}, [[1, 2]]),
        ("f.json", json.dumps([{"a": "é"}], ensure_ascii=False).encode("latin-1"), {"encoding": "latin-1"}, [["é"]]),
    ],
)  # fmt: skip
def test_every_reader_takes_the_options(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], expected: list[list[Any]]
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = _read(path, options)
    names = table.frame.columns
    assert [list(row.values()) for row in json_rows(table.frame)] == expected
    assert _shown(path, options)["rows"] == expected
    records = _records(path, options, _declared(table.frame))
    assert [[row.get(each) for each in names] for row in records] == expected


def test_names_in_another_encoding_than_ascii_cells_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Größe,n\nx,1\n".encode("latin-1"))
    table = _read(path, {})
    assert (table.frame.columns, table.notes) == (["Größe", "n"], ["encoding windows-1252"])
    with path.open("rb") as stream:
        streamed = to_parquet(stream, False, Stated(), tmp_path / "a.parquet")
    assert streamed.encoding == "windows-1252"
    assert pq.read_schema(tmp_path / "a.parquet").names == ["Größe", "n"]
    path.write_bytes("Größe �,n\nx,1\n".encode())
    assert _read(path, {}).frame.columns == ["Größe �", "n"]


def test_what_was_found_reads_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Bericht\n\nName;Preis\nÖl;1,5\n".encode("latin-1"))
    found = _read(path, {}).found
    assert (found.encoding, found.delimiter, found.header_row, found.decimal) == ("windows-1252", ";", 3, ",")
    options = {name: getattr(found, name) for name in ("encoding", "delimiter", "header_row", "decimal")}
    assert _read(path, options).frame.equals(_read(path, {}).frame)


def test_an_archive_of_one_table_is_that_table_and_of_several_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(_zipped(sales_csv="sku,n\na,1\n"))
    assert _read(path, {}).frame.rows() == [("a", 1)]
    assert _shown(path, {})["rows"] == [["a", 1]]
    path.write_bytes(_zipped(one_csv="a\n1\n", two_csv="b\n2\n"))
    with pytest.raises(Unreadable, match=r"holds 2 files \('one.csv', 'two.csv'\)"):
        _read(path, {})


@pytest.mark.parametrize("has_statistics", [True, False])
def test_infinities_of_a_parquet_file_are_noted_by_an_ingest(tmp_path: Path, has_statistics: bool) -> None:
    infinity = float("inf")
    columns = {
        "a": [1.0, -infinity],
        "b": [1.0, float("nan")],
        "c": [[1.0], [infinity]],
        "d": [{"x": 1.0}, {"x": infinity}],
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path, write_statistics=has_statistics, row_group_size=1)
    notes = Notes()
    with path.open("rb") as stream:
        file = files.RecordFile(stream, "t", TableSpec(), "auto", path.name, RecordMapping(id=None), notes=notes)
        made = [record for record in files.read(file) if not isinstance(record, Refused)]
    assert [record["fields"] for record in made][1:] == [{"c": [None], "d": {"x": None}}]
    lost = [note.partition(":")[0] for note in notes.texts() if "infinite numbers are read as missing" in note]
    assert lost == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (FILES["formulas.xlsx"][0], "2 formulas have no value, as no program has calculated them: read as missing"),
        (FILES["hidden.xlsx"][0], "sheet 'Sales' (not read: 'Sheet')"),
        (FILES["blank_rows.xlsx"][0], "1 blank row left out"),
        (_excel(["n"], ["1"], ["2,5"]), "n: kept as text, as the workbook does: its cells are numbers"),
    ],
)
def test_what_a_workbook_hides_is_noted(tmp_path: Path, content: bytes, note: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    assert note in _shown(path, {})["notes"]


def test_nan_counts_as_missing_and_spoils_no_quartile() -> None:
    [column] = profile(pl.DataFrame({"a": [1.0, 2.0, 3.0, float("nan"), None]}))
    assert column.missing == 2
    assert column.distribution is not None
    assert (column.distribution.quartiles, column.distribution.mean) == ((2.0, 2.0, 3.0), 2.0)
