"""Files become typed tables, or say why they cannot."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from shared.reading import month_names
from shared.reading.columns import type_name
from shared.reading.large_text import to_parquet
from shared.reading.read import Reader, answer, read
from shared.reading.rows import open_rows
from shared.reading.source import Unreadable
from shared.reading.stated import NOTHING_STATED

Read = Callable[..., pl.DataFrame]


@pytest.fixture
def table(tmp_path: Path) -> Read:
    def from_bytes(content: str | bytes, name: str = "data.csv") -> pl.DataFrame:
        path = tmp_path / "file"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, name)[0]

    return from_bytes


def types(frame: pl.DataFrame) -> dict[str, str]:
    return {name: type_name(dtype) for name, dtype in frame.schema.items()}


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2", "-3"], "int", [1, 2, -3]),
        (["1", "2.5", "1e3"], "float", [1, 2.5, 1000]),
        (["007", "123", "045"], "string", ["007", "123", "045"]),
        (["0", "10", "20"], "int", [0, 10, 20]),
        (["0.5", "00.5"], "string", ["0.5", "00.5"]),
        (["1,234", "12,345,678", "5"], "int", [1234, 12345678, 5]),
        (["1,234.50", "99"], "float", [1234.5, 99]),
        (["1 234,5", "2 000,0"], "float", [1234.5, 2000]),
        (["true", "FALSE", "True"], "bool", [True, False, True]),
        (["2024-01-31", "2024-02-29"], "date", [date(2024, 1, 31), date(2024, 2, 29)]),
        (["31.01.2024", "01.02.2024"], "date", [date(2024, 1, 31), date(2024, 2, 1)]),
        (["13/02/2024", "01/02/2024"], "date", [date(2024, 2, 13), date(2024, 2, 1)]),
        (["02/13/2024", "02/01/2024"], "date", [date(2024, 2, 13), date(2024, 2, 1)]),
        (["01/02/2024", "03/04/2024"], "string", ["01/02/2024", "03/04/2024"]),
        (["Jan 1 2000", "Feb 11 2000"], "date", [date(2000, 1, 1), date(2000, 2, 11)]),
        (["3 January 2000", "11 May 2001"], "date", [date(2000, 1, 3), date(2001, 5, 11)]),
        (["19-Sep-03", "5-Jan-98"], "date", [date(2003, 9, 19), date(1998, 1, 5)]),
        (["19/09/03", "20/10/04"], "string", ["19/09/03", "20/10/04"]),
        (["05/05/2024", "06/06/2024"], "date", [date(2024, 5, 5), date(2024, 6, 6)]),
        (["2024-01-31", "2024-02-30"], "string", ["2024-01-31", "2024-02-30"]),
        (
            ["2024-01-31 10:00", "2024-01-31 11:30"],
            "datetime",
            [datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 11, 30)],
        ),
        (
            ["2024-01-31T10:00:00Z", "2024-01-31T12:00:00+02:00"],
            "datetime",
            [datetime(2024, 1, 31, 10, tzinfo=UTC)] * 2,
        ),
        (["12345678901234567890", "1"], "string", ["12345678901234567890", "1"]),
        (["+4912345", "+4954321"], "string", ["+4912345", "+4954321"]),
        (["1", "NA", "3"], "int", [1, None, 3]),
        (["1", "-", "n/a"], "int", [1, None, None]),
        (["a", "NULL", ""], "string", ["a", None, None]),
        (["a", "-", "?"], "string", ["a", "-", "?"]),
        (["1", "x"], "string", ["1", "x"]),
        ([" 1", "2 "], "int", [1, 2]),
        (["31. Januar 2024", "5. März 2024", "NA"], "date", [date(2024, 1, 31), date(2024, 3, 5), None]),
        (["Mittwoch, 31. Januar 2024", "Freitag, 1. März 2024"], "date", [date(2024, 1, 31), date(2024, 3, 1)]),
        (["Mittwoch, 30. Januar 2024"], "string", ["Mittwoch, 30. Januar 2024"]),  # it was a Tuesday
        (["Wednesday, January 31, 2024"], "date", [date(2024, 1, 31)]),
        (
            ["5 mars 2024", "1er avril 2024", "14 août 2024"],
            "date",
            [date(2024, 3, 5), date(2024, 4, 1), date(2024, 8, 14)],
        ),
        (["5 de marzo de 2024", "12 de setiembre de 2024"], "date", [date(2024, 3, 5), date(2024, 9, 12)]),
        (["quinta-feira, 1 de fevereiro de 2024"], "date", [date(2024, 2, 1)]),
        (["5 maggio 2024", "1º giugno 2024"], "date", [date(2024, 5, 5), date(2024, 6, 1)]),
        (["5 mei 2024", "6 maart 2024"], "date", [date(2024, 5, 5), date(2024, 3, 6)]),
        (["5 марта 2024 г.", "12 мая 2024 г."], "date", [date(2024, 3, 5), date(2024, 5, 12)]),
        (["12-Mar-2024", "01-DEC-2024"], "date", [date(2024, 3, 12), date(2024, 12, 1)]),
        (["12-Mrz-24", "1-Dez-99"], "date", [date(2024, 3, 12), date(1999, 12, 1)]),
        (["March 5, 2024", "Sept. 6th, 2024"], "date", [date(2024, 3, 5), date(2024, 9, 6)]),
        (["31JAN24", "01FEB24"], "date", [date(2024, 1, 31), date(2024, 2, 1)]),
        (["12set24", "13out24"], "string", ["12set24", "13out24"]),
        (["2024-Mar-05", "2024-Dec-31"], "date", [date(2024, 3, 5), date(2024, 12, 31)]),
        (
            ["5 Mar 2024 10:30", "6 Mar 2024 11:00"],
            "datetime",
            [datetime(2024, 3, 5, 10, 30), datetime(2024, 3, 6, 11)],
        ),
        (["5. Mai 2024, 8:30 Uhr"], "datetime", [datetime(2024, 5, 5, 8, 30)]),
        (["5 Mar 2024, 8:30 PM"], "datetime", [datetime(2024, 3, 5, 20, 30)]),
        (["31 feb 2024", "1 mar 2024"], "string", ["31 feb 2024", "1 mar 2024"]),
        (["5 mars 2024", "2024-03-06"], "string", ["5 mars 2024", "2024-03-06"]),
        (["5 mars 2024", "6 mars 24"], "string", ["5 mars 2024", "6 mars 24"]),
        (["5 listopada 2024"], "string", ["5 listopada 2024"]),  # October in Croatian, November in Polish
        (["March 2024", "April 2024"], "string", ["March 2024", "April 2024"]),
        (["12 Mar", "13 Mar"], "string", ["12 Mar", "13 Mar"]),
        (["Room 5 2024", "Room 7 2024"], "string", ["Room 5 2024", "Room 7 2024"]),
        (["08:30:15.250", "9:00:00"], "string", ["08:30:15.250", "9:00:00"]),
        (["8:30 PM", "9:00 am"], "string", ["8:30 PM", "9:00 am"]),
        (["yes", "no"], "string", ["yes", "no"]),
        (["12:30", "13:45"], "string", ["12:30", "13:45"]),
        (["20240131", "20240229"], "int", [20240131, 20240229]),
    ],
)
def test_types_are_inferred_from_every_cell(table: Read, cells: list[str], kind: str, values: list[Any]) -> None:
    quoted = "".join(f'{number},"{cell}"\n' for number, cell in enumerate(cells))
    frame = table("n,x\n" + quoted)
    assert types(frame)["x"] == kind
    assert frame["x"].to_list() == values


def test_a_name_of_a_month_or_weekday_means_one_in_all_languages() -> None:
    for words, names in ((month_names._MONTHS, month_names.MONTHS), (month_names._WEEKDAYS, month_names.WEEKDAYS)):
        assert len(" ".join(words).split()) == len(names)


def test_a_late_cell_decides_too(table: Read) -> None:
    rows = [str(number) for number in range(1, 30_000)]
    assert types(table("x\n" + "\n".join([*rows, "007"])))["x"] == "string"
    assert types(table("x\n" + "\n".join([*rows, "1.5"])))["x"] == "float"
    assert types(table("x\n" + "\n".join([*rows, "no"])))["x"] == "string"
    assert table("x\n" + "\n".join([*rows, "NA"]))["x"].null_count() == 1


LARGE = 120_000  #: rows that make the file of the next tests a large one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("5", "int"),
        ("-5", "int"),
        ("", "int"),
        (" 5", "int"),
        ("NA", "int"),
        ("007", "string"),
        ('"007"', "string"),
        ("-07", "string"),
        ("+7", "string"),
        ("1.5", "float"),
        ("0.5", "float"),
        ("NaN", "int"),
        ("12345678901234567890", "string"),
        ("x", "string"),
    ],
)
@pytest.mark.parametrize("late", [True, False])
def test_one_odd_cell_decides_in_a_large_file_too(table: Read, cell: str, kind: str, late: bool) -> None:
    rows = [f"{number},text {number},2024-01-{1 + number % 28:02}" for number in range(LARGE)]
    rows[LARGE - 7001 if late else 3] = f"{cell},text,2024-02-02"
    large = table("a,b,c\n" + "\n".join(rows))
    assert types(large) == {"a": kind, "b": "string", "c": "date"}
    assert large.height == LARGE
    assert large["a"].null_count() == (cell in ("", "NA", "NaN"))
    assert large["c"].n_unique() == 29
    if kind == "string":
        assert cell.strip('"') in large["a"]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("width", ["08", "<8"])
def test_a_large_file_reads_as_its_parts_do(table: Read, width: str) -> None:
    lines = [
        f'{n},{n % 11 or ""},{n / 8},{-n / 4},{n % 3 == 0},"a ""b"", x{n % 7}",2023-12-{1 + n % 31:02},'
        f"{'NA' if n % 50 == 0 else n},{n:{width}},{n % 28 + 1}.March 2024"
        for n in range(LARGE // 2)
    ]
    names = ",".join("abcdefghij")
    large = table("\n".join([names, *lines]))
    parts = [table("\n".join([names, *lines[at : at + 10_000]])) for at in range(0, len(lines), 10_000)]
    assert large.schema == parts[0].schema
    assert large.equals(pl.concat(parts))


@pytest.mark.parametrize("row", ["7", "7,8,9", "", "7,"])
def test_a_row_of_another_length_is_found_in_a_large_file(table: Read, row: str) -> None:
    lines = [f"{number},{number * 3}" for number in range(2 * LARGE)]
    lines[-9] = row
    if row in ("", "7,"):  # a blank line is none; an empty last cell is missing
        assert table("a,b\n" + "\n".join(lines)).shape == (len(lines) - (row == ""), 2)
        assert table("a,b\n" + "\n".join(lines))["b"].null_count() == (row == "7,")
    else:
        with pytest.raises(Unreadable, match=f"line {len(lines) - 7} has {row.count(',') + 1} fields"):
            table("a,b\n" + "\n".join(lines))


def test_a_decimal_comma_is_found_by_its_delimiter(table: Read) -> None:
    frame = table("a;b;c\n1,5;1.234;x\n2,25;10.500;y\n")
    assert frame["a"].to_list() == [1.5, 2.25]
    assert frame["b"].to_list() == [1234, 10500]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(table: Read, delimiter: str) -> None:
    frame = table(f'a{delimiter}b\n1{delimiter}"x{delimiter}\ny"\n')
    assert frame.rows() == [(1, f"x{delimiter}\ny")]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("utf-8", "größe"), ("utf-8-sig", "größe"), ("utf-16", "größe"), ("cp1252", "größe €")],
)
def test_encodings_are_found(table: Read, encoding: str, text: str) -> None:
    frame = table(f"name,{text}\n{text},1\n".encode(encoding))
    assert frame.columns == ["name", text]
    assert frame["name"].to_list() == [text]


_WIDE = {
    "LE": "utf-16-le", "BE": "utf-16-be", "LE with a mark": "utf-16", "BE with a mark": "utf-16-be",
}  # fmt: skip
_WIDE_TEXTS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "a table": ("a.csv", "name,größe\nZoë,1\n", [{"name": "Zoë", "größe": 1}]),
    "Windows' line ends": ("a.txt", "Stadt\tn\r\nKöln\t1\r\n", [{"Stadt": "Köln", "n": 1}]),
    "Russian": (
        "a.csv", "город;сумма\nМосква;10\nТула;2\n", [{"город": "Москва", "сумма": 10}, {"город": "Тула", "сумма": 2}]
    ),
    "Chinese": ("a.csv", "一,数\n一万,1\n", [{"一": "一万", "数": 1}]),
    "Japanese": ("a.csv", "都市,数\n東京,1\n大阪,2\n", [{"都市": "東京", "数": 1}, {"都市": "大阪", "数": 2}]),
    "beyond the first plane": ("a.csv", "a,b\n😀,1\n", [{"a": "😀", "b": 1}]),
    "JSON": ("a.json", '[{"a": "ü"}]', [{"a": "ü"}]),
    "JSON without an ending": ("a", '[{"a": 1},\n {"a": 2}]', [{"a": 1}, {"a": 2}]),
    "JSON lines": ("a.jsonl", '{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
    "JSON lines without an ending": ("a", '{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
    "long": ("a.csv", "name,n\n" + "Ä,1\n" * 30_000, [{"name": "Ä", "n": 1}] * 30_000),
}  # fmt: skip


@pytest.mark.parametrize("kind", _WIDE)
@pytest.mark.parametrize("given", _WIDE_TEXTS)
def test_utf_16_is_read_with_a_mark_or_without(tmp_path: Path, given: str, kind: str) -> None:
    name, text, rows = _WIDE_TEXTS[given]
    mark = "\ufeff" if kind == "BE with a mark" else ""
    (tmp_path / name).write_bytes((mark + text).encode(_WIDE[kind]))
    frame, notes, _, _ = read(tmp_path / name, name)
    assert frame.to_dicts() == rows
    assert ("encoding utf-16" if "mark" in kind else f"encoding {_WIDE[kind]}") in notes
    if not name.endswith(("json", "jsonl")) and "." in name:
        table = open_rows(tmp_path / name, name, NOTHING_STATED, lambda column: frame.schema[column].is_integer())
        assert list(table.rows) == rows
        assert notes == table.notes


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 10,
        b"\x00\x01" * 500,
        b"a\x00" * 500 + b"\x00\x00",
        b"a\x00b\x00\x07\x00\n\x00" * 50,
        b"a\x00\n\x00\x00\xd8b\x00" * 50,  # half a character
        b"a,b\n1,2\x00\n" * 50,
        np.arange(1000, dtype=np.int16).tobytes(),
        np.linspace(0, 1, 1000).tobytes(),
    ],
)
def test_what_has_zeros_and_is_no_text_is_refused(table: Read, content: bytes) -> None:
    with pytest.raises(Unreadable, match="binary data"):
        table(content)


def test_large_utf_16_is_refused_with_what_to_do(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        (tmp_path / "a.csv").write_bytes("a,b\nä,1\n".encode(encoding))
        with (tmp_path / "a.csv").open("rb") as file, pytest.raises(Unreadable, match="save larger files as UTF-8"):
            to_parquet(file, False, NOTHING_STATED, tmp_path / "table.parquet")


def test_line_ends_and_blank_lines_do_not_matter(table: Read) -> None:
    assert table("a,b\r\n1,2\r\n\r\n3,4\r\n").rows() == [(1, 2), (3, 4)]
    assert table("a,b\r1,2\r3,4").rows() == [(1, 2), (3, 4)]
    assert table("a\n1\n\n2\n").rows() == [(1,), (2,)]
    assert table("a\n1\r2\n3\r\n4\r").rows() == [(1,), (2,), (3,), (4,)]
    assert table('a\r"x\ry"\r"z"\nw\n').rows() == [("x\ry",), ("z",), ("w",)]
    assert table("a,b\n1,2\r\n3,4\r5,6\n").rows() == [(1, 2), (3, 4), (5, 6)]
    assert table("a,b\n1,\n2,\n").rows() == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "data.csv", "empty"),
        ("\n\n", "data.csv", "empty"),
        ("a,b\n", "data.csv", "no rows"),
        ("a,b\n1,2\n3\n", "data.csv", "line 3 has 1 fields, the header has 2"),
        ("a,b\n1,2\n3,4,5\n", "data.csv", "line 3 has 3 fields, the header has 2"),
        ('a,b\n"x\ny",2\n3\n', "data.csv", "line 4 has 1 fields"),
        (",".join(f"c{n}" for n in range(5000)) + "\n" + ",".join("1" * 5000), "data.csv", "5,000 columns"),
        (bytes(range(256)) * 10, "data.csv", "binary"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "data.csv", "PNG image"),
        (b"\x1f\x8b\x08" + bytes(50), "data.csv", "gzip"),
        (b"PAR1 not really PAR1", "data.parquet", "Parquet file is damaged"),
        (b"ARROW1\0\0 no", "data.arrow", "Arrow file is damaged"),
        (b"PK\x03\x04 no", "data.xlsx", "damaged"),
        ("[]", "data.json", "no rows"),
        ("[1, 2]", "data.json", "row 1 is not an object"),
        ("{", "data.json", "JSON cannot be read"),
        ("[" * 100_000, "data.json", "JSON cannot be read"),
        ('{"a": 1}\n{"a": \n', "data.jsonl", "line 2 is not JSON"),
        ('{"a": 1}\n3\n', "data.jsonl", "line 2 is not an object"),
        ("[{}]", "data.json", "no fields"),
    ],
)
def test_bad_files_say_what_is_wrong_and_where(table: Read, content: str | bytes, name: str, words: str) -> None:
    with pytest.raises(Unreadable) as refused:
        table(content, name)
    assert words in str(refused.value)


def test_a_workbook_that_claims_gigabytes_is_refused_unopened(table: Read) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 1000)
    content = bytearray(packed.getvalue())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (4_000_000_000).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="more than 2 GB"):
        table(bytes(content), "data.xlsx")


def test_a_small_file_that_holds_far_too_many_rows_is_refused_by_its_claim(table: Read, tmp_path: Path) -> None:
    pl.select(a=pl.repeat(1, 20_000_001, dtype=pl.Int8)).write_parquet(tmp_path / "p")
    assert (tmp_path / "p").stat().st_size < 1_000_000
    with pytest.raises(Unreadable, match="20,000,001 rows"):
        table((tmp_path / "p").read_bytes(), "data.parquet")


def test_json_keeps_its_own_types(table: Read) -> None:
    rows = [{"id": 1, "zip": "007", "x": 1, "day": "2024-01-01", "tags": ["a"], "o": {"k": 1}}, {"id": 2, "x": 2.5}]
    frame = table(json.dumps(rows), "data.json")
    assert types(frame) == {"id": "int", "zip": "string", "x": "float", "day": "string", "tags": "list", "o": "struct"}
    assert frame["zip"].to_list() == ["007", None]
    lines = "\n".join(json.dumps(row) for row in rows)
    assert table(lines, "data.jsonl").equals(frame)
    assert table(lines, "anything").equals(frame)
    assert table(json.dumps({"data": rows, "next": None}), "data.json").equals(frame)
    assert table('{"a": [1, 2], "b": ["x", "y"]}', "data.json").rows() == [(1, "x"), (2, "y")]
    assert table('[{"a": 1}, {"a": "x"}, {"a": true}]', "data.json")["a"].to_list() == ["1", "x", "true"]


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        ([{}, {"k": 1}], [{"k": None}, {"k": 1}]),
        ([{"k": 1}, {"k": 1, "m": "x"}], [{"k": 1, "m": None}, {"k": 1, "m": "x"}]),
        ([{"k": 1}, {"k": 1.5}], [{"k": 1.0}, {"k": 1.5}]),
        ([{"k": 1}, {"k": "s"}], ['{"k": 1}', '{"k": "s"}']),
        ([[1], [2.5]], [[1.0], [2.5]]),
        ([[2**53 + 1], [0.5]], ["[9007199254740993]", "[0.5]"]),
        ([[{"k": 1}], [{"m": [2]}]], [[{"k": 1, "m": None}], [{"k": None, "m": [2]}]]),
        ([["x\ud800"], ["y"]], [["x?"], ["y"]]),
        (["x\udc00", "\U0001f600"], ["x?", "\U0001f600"]),
        ([None, {}], [None, "{}"]),
    ],
)
def test_what_only_a_later_object_holds_is_not_lost(table: Read, cells: list[object], read: list[object]) -> None:
    assert table(json.dumps([{"a": cell} for cell in cells]), "data.json")["a"].to_list() == read
    assert table("\n".join(json.dumps({"a": cell}) for cell in cells), "data.jsonl")["a"].to_list() == read


def test_typed_formats_keep_their_types(table: Read, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "day": [date(2024, 1, 1), None], "price": ["1.10", "2.20"]}).with_columns(
        pl.col("price").cast(pl.Decimal(10, 2))
    )
    frame.write_parquet(tmp_path / "p")
    frame.write_ipc(tmp_path / "a")
    frame.write_ipc_stream(tmp_path / "s")
    for name in "pas":
        assert table((tmp_path / name).read_bytes(), "no-suffix").equals(frame)


def test_a_workbook_gives_its_first_filled_sheet(table: Read, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "blank"  # type: ignore[union-attr]
    sheet = book.create_sheet("sales")
    for row in (
        ["id", "zip", "day", "price"],
        [1, "007", datetime(2024, 1, 1), 1.5],
        [2, "123", datetime(2024, 1, 2), 2],
    ):
        sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    frame = table((tmp_path / "book.xlsx").read_bytes(), "book.xlsx")
    assert types(frame) == {"id": "int", "zip": "string", "day": "date", "price": "float"}
    assert frame.rows()[0] == (1, "007", date(2024, 1, 1), 1.5)


def arrow(table: pa.Table, compression: str | None, *, stream: bool = False) -> bytes:
    sink = io.BytesIO()
    made = pa.ipc.new_stream if stream else pa.ipc.new_file
    with made(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_is_read_in_both_forms_packed_or_not(table: Read, compression: str | None, stream: bool) -> None:
    words = pa.array(["x", None, "x"]).dictionary_encode()
    made = pa.table({"n": [1, 2, None], "word": words, "text": ["a", "", "b"]})
    frame = table(arrow(made, compression, stream=stream), "data.arrow")
    assert frame.rows() == [(1, "x", "a"), (2, None, ""), (None, "x", "b")]


@pytest.mark.parametrize("stream", [True, False])
def test_a_claim_of_many_gigabytes_is_refused_before_anything_is_unpacked(table: Read, stream: bool) -> None:
    """Two kilobytes of file, sixteen of which claim 80 gigabytes."""
    block = np.zeros(1_000_000, dtype=np.int64)
    content = bytearray(arrow(pa.table({"n": block}), "zstd", stream=stream))
    claim = len(block) * 8
    at = content.index(claim.to_bytes(8, "little"))
    assert len(content) < 3000
    content[at : at + 8] = (80_000_000_000).to_bytes(8, "little")
    with pytest.raises(Unreadable, match=r"unpack to 80\.0 GB"):
        table(bytes(content), "data.arrow")


@pytest.mark.parametrize("at", range(8, 1200, 37))
def test_a_damaged_arrow_file_is_said_to_be_one(table: Read, at: int) -> None:
    content = bytearray(arrow(pa.table({"n": [1, 2, 3], "t": ["a", "b", "c"]}), "lz4"))
    content[at % len(content)] ^= 0xFF
    with contextlib.suppress(Unreadable):
        assert table(bytes(content), "data.arrow").height < 10


@pytest.mark.parametrize("rows", [1, 20], ids=["small", "large"])
def test_a_very_long_cell_is_read(table: Read, rows: int) -> None:
    cell = "x" * 200_000
    frame = table("a,b\n" + f"{cell},1\n" * rows)
    assert frame["a"].to_list() == [cell] * rows
    assert types(frame)["b"] == "int"


def test_whole_numbers_of_json_keep_every_digit(table: Read) -> None:
    frame = table('[{"a": 123456789012345678901234567890, "b": 9007199254740993}, {"a": 1, "b": 1}]', "a.json")
    assert frame["a"].to_list() == ["123456789012345678901234567890", "1"]
    assert frame["b"].to_list() == [9007199254740993, 1]


def test_wide_decimals_are_read_as_far_as_they_go(table: Read, tmp_path: Path) -> None:
    def parquet(number: str) -> bytes:
        kind = pa.decimal256(60, 2)
        pq.write_table(pa.table({"price": pa.array([Decimal(number), None], kind)}), tmp_path / "p")
        return (tmp_path / "p").read_bytes()

    assert table(parquet("12.50"), "p.parquet")["price"].to_list() == [Decimal("12.50"), None]
    assert table(parquet("1" * 50), "p.parquet")["price"].to_list() == ["1" * 50 + ".00", None]


@pytest.mark.parametrize(
    ("reader", "kinds"),
    [
        (Reader(lazy=False, rounds="with_missing", dates=False), {"full": "int", "gaps": "string", "short": "int"}),
        (Reader(lazy=False, rounds="always", dates=True), {"full": "string", "gaps": "string", "short": "int"}),
        (Reader(lazy=True, rounds="never", dates=True), {"full": "int", "gaps": "int", "short": "int"}),
    ],
)
def test_long_numbers_are_text_only_where_the_language_would_round_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reader: Reader, kinds: dict[str, str]
) -> None:
    path = tmp_path / "ids"
    path.write_text("full,gaps,short\n123456789012345678,123456789012345678,1\n1,,\n")
    frame = answer(str(path), "ids.csv", reader, 5, {})
    report = json.loads(capsys.readouterr().out)
    assert report["types"] == kinds
    assert {name for name, note in report["columns"].items() if "more digits" in note} == {
        name for name, kind in kinds.items() if kind == "string"
    }
    assert frame is not None
    assert [str(cell) for cell in frame["gaps"]] == ["123456789012345678", "None"]


def test_every_row_of_a_workbook_decides_the_types(table: Read) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["code", "at"])
    for number in range(2000):
        sheet.append([number, time(number % 24, 30)])
    sheet.append(["x007", time(0, 0, 1)])
    buffer = io.BytesIO()
    book.save(buffer)
    frame = table(buffer.getvalue(), "data.xlsx")
    assert types(frame) == {"code": "string", "at": "string"}
    assert frame["code"].null_count() == 0
    assert frame["code"][-1] == "x007"
    assert frame["at"][[0, 1, -1]].to_list() == ["00:30:00", "01:30:00", "00:00:01"]


def test_what_is_nested_too_deeply_for_a_table_is_kept_as_text(table: Read) -> None:
    for deep, kind in ((10, "list"), (100, "string")):
        frame = table('[{"a": ' + "[" * deep + "1" + "]" * deep + "}]", "a.json")
        assert types(frame) == {"a": kind}


_NOTED: dict[str, tuple[str | bytes, dict[str, list[Any]], str]] = {
    "what pandas writes": (",a\n0,1\n1,2\n", {"column_1": [0, 1], "a": [1, 2]}, "without a name: column_1"),
    "what R writes": ('"","a"\n"1",1\n"2",2\n', {"column_1": [1, 2], "a": [1, 2]}, "without a name: column_1"),
    "a gap in the middle": ("a,,c\n1,2,3\n", {"a": [1], "column_2": [2], "c": [3]}, "without a name: column_2"),
    "a made-up name that is taken": (
        ",column_1\n1,2\n", {"column_1_": [1], "column_1": [2]}, "without a name: column_1_"
    ),
    "sep= for Excel": ("sep=;\na;b\n1;2\n", {"a": [1], "b": [2]}, "the first line names the delimiter"),
    "sep= of another sign": ("sep=,\r\na,b\r\n1,2\r\n", {"a": [1], "b": [2]}, "the first line names the delimiter"),
    "SEP= with an odd delimiter": ('"SEP=^"\na^b\n1^2\n', {"a": [1], "b": [2]}, "the first line names the delimiter"),
    "a title and a blank line": (
        "Sales report 2024\n\na,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}, "2 lines above the header skipped"
    ),
    "a title that numbers follow": ("Sales report\na;b\nx;2\ny;4\n", {"a": ["x", "y"], "b": [2, 4]}, "1 line above"),
    "a title padded with delimiters": (
        "Report,,\n,,\ncity,amount,day\nOslo,1,2024-01-01\n",
        {"city": ["Oslo"], "amount": [1], "day": [date(2024, 1, 1)]}, "2 lines above",
    ),
    "facts of the report": (
        "Account;DE12 3456\nFrom;01.01.2024\nTo;31.01.2024\n\nDay;Payee;Purpose;Amount\n02.01.2024;A;x;-1,50\n",
        {"Day": [date(2024, 1, 2)], "Payee": ["A"], "Purpose": ["x"], "Amount": [-1.5]}, "4 lines above",
    ),
    "comments": ("# made by us\n# 2024, for tests\na,b\n1,2\n", {"a": [1], "b": [2]}, "2 lines above"),
    "names behind the sign of a comment": ("# made by us\n#a,b\n1,2\n", {"a": [1], "b": [2]}, "1 line above"),
    "a delimiter at the end of every line": ("a,b,\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}, "every line ends"),
    "a delimiter at the end of every row": ("a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}, "every line ends"),
    "quotes with backslashes": ('a,b\n"x \\"y\\" z",1\n', {"a": ['x "y" z'], "b": [1]}, "with a backslash"),
    "one damaged byte": (
        "name,v\nÄ,1\nÖ,2\n".encode() + b"\xe4,3\n", {"name": ["Ä", "Ö", "\ufffd"], "v": [1, 2, 3]}, "1 byte in line 4"
    ),
    "undefined bytes": (
        b"name,v\n\xc4,1\n\x81,2\n", {"name": ["Ä", "\ufffd"], "v": [1, 2]}, "not defined in windows-1252"
    ),
}  # fmt: skip


@pytest.mark.parametrize("given", _NOTED)
def test_what_is_not_plain_is_read_with_a_note(tmp_path: Path, given: str) -> None:
    content, values, note = _NOTED[given]
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    frame, notes, _, _ = read(path, "data.csv")
    assert frame.to_dict(as_series=False) == values
    assert any(note in each for each in notes), notes


@pytest.mark.parametrize(
    "content",
    [
        "name\nDoe, John\nRoe, Jane\n",  # no title: nothing distinguishes names from values
        "a\nb,c\nd,e\n",
        "note,x\nsee below,1\n,\n",
    ],
)
def test_names_are_not_taken_for_a_title(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with contextlib.suppress(Unreadable):  # a row does not fit the names
        frame, notes, _, _ = read(path, "data.csv")
        assert frame.columns == content.splitlines()[0].split(",")
        assert not any("above" in note for note in notes)


def test_the_line_of_a_bad_row_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("Report\n\na,b,c\n1,2,3\n4,5\n")
    with pytest.raises(Unreadable, match="line 5 has 2 fields"):
        read(path, "data.csv")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["2024-01-01 00:00:00.123456789", "2024-01-01 00:00:00.123456788"], "string"),
        (["2024-01-01 00:00:00.123456000", "2024-01-01 00:00:00.5"], "datetime"),
        (["2024-01-01T00:00:00.123456789Z"], "string"),
        (["12345678901234567", "1.5"], "string"),
        (["12345678901234567.89", "0.10"], "string"),
        (["123456789012345.67", "0.1"], "float"),
        (["0.30000000000000004", "0.1000000000000000055511151231257827"], "float"),
        (["1e300", "1.5"], "float"),
        (["9007199254740993", "0.5", "NA"], "string"),
        (["1\u202f234,5", "12,0"], "float"),
        (["1 234,50", "999,00", "7"], "float"),
        (["1.234,5", "12,0"], "float"),
        (["1'234.5", "12.0"], "float"),
    ],
)
@pytest.mark.parametrize("rows", [1, 200_000])
def test_a_number_or_a_moment_keeps_every_digit_or_stays_text(
    tmp_path: Path, cells: list[str], kind: str, rows: int
) -> None:
    if rows > 1 and len(cells) * rows * len(cells[0]) < 2_000_000:
        rows *= 2
    path = tmp_path / "file"
    lines = "\n".join(f"{cell};x" for cell in cells) + "\n"
    path.write_text("a;b\n" + lines * (rows // len(cells) or 1))
    frame, _, notes, _ = read(path, "data.csv")
    assert types(frame)["a"] == kind
    if kind == "string":
        assert frame["a"].to_list()[: len(cells)] == [None if cell == "NA" else cell for cell in cells]
        assert "kept as text" in notes["a"]


def workbook(path: Path, *rows: list[Any]) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["Name", date(2024, 1, 1), date(2024, 2, 1)], ["John", 1, 2]], ["Name", "2024-01-01", "2024-02-01"]),
        ([["Report 2024"], [], ["city", "amount"], ["Oslo", 1]], ["city", "amount"]),
        ([["Report"], ["city", "amount", "day"], ["Oslo", 1, date(2024, 1, 1)]], ["city", "amount", "day"]),
        ([[None, "2023", None, "2024", None], ["city", "q1", "q2", "q1", "q2"], ["Oslo", 1, 2, 3, 4]],
         ["city", "2023 q1", "2023 q2", "2024 q1", "2024 q2"]),
        ([["city", None, "amount"], ["Oslo", "x", 1]], ["city", "column_2", "amount"]),
        ([["year", 2023, 2024], ["Oslo", 1, 2]], ["year", "2023", "2024"]),
    ],
)  # fmt: skip
def test_the_names_of_a_sheet_are_found_wherever_they_stand(tmp_path: Path, rows: list[Any], names: list[str]) -> None:
    frame, _, _, _ = read(workbook(tmp_path / "x.xlsx", *rows), "x.xlsx")
    assert frame.columns == names
    assert frame.height == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('id\tname\ttext\n10\ta\t"Paper stuck says\n11\tb\tc\n12\tx\ty\n', 2),
        ('id,name\n1,a\n2,"b\n3,c\n', 3),
        ('id,name\n1,"a\nb"\n2,"b\n3,c', 4),
        ('id,name\n"1,a\n2,b\n', 2),
        ('title\n\nid,name\n1,a\n2,"b\n3,c\n', 5),
        ("id,name\n" + "1,a\n" * 600_000 + '2,"b\n3,c\n', 600_002),
        ('id;name\n1;"B\u00e4r\n2;c\n'.encode("cp1252"), 2),
    ],
)
def test_an_opening_quote_that_is_never_closed_is_refused_with_its_line(
    table: Read, text: str | bytes, line: int
) -> None:
    with pytest.raises(Unreadable, match=f"line {line}: a quoted cell that begins here is not closed"):
        table(text, "data.tsv" if isinstance(text, str) and "\t" in text else "data.csv")


@pytest.mark.parametrize("text", ['a,b\n1,x"y\n2,c\n', 'a,b\n1,5" pipe\n2,"c ""d"""\n', 'a,b\n1,"c"\n2,"d"'])
def test_quotes_within_a_cell_open_none(table: Read, text: str) -> None:
    assert table(text).height == 2


@pytest.mark.parametrize("rows", [1, 300_000])
@pytest.mark.parametrize(
    ("cells", "delimiter", "values", "note"),
    [
        (["1e400", "1.5"], ",", ["1e400", "1.5"], "kept as text: more digits than a number keeps"),
        (["-1e400", "1"], ",", ["-1e400", "1"], "kept as text: more digits than a number keeps"),
        (["inf", "1.5"], ",", [float("inf"), 1.5], None),
        (["1e300", "1.5"], ",", [1e300, 1.5], None),
        (["1.234", "5.678"], ";", [1.234, 5.678], "read as decimals: if the points separate thousands"),
        (["1.234", "5.6"], ";", [1.234, 5.6], None),
        (["1.234", "5.678"], ",", [1.234, 5.678], None),
        (["31.01.24", "01.02.24"], ";", ["31.01.24", "01.02.24"], "kept as text: years of two digits"),
        (["1/2/24", "13/2/24"], ",", ["1/2/24", "13/2/24"], "kept as text: years of two digits"),
        (["1.2.24 10:00", "2.2.24 11:30"], ",", ["1.2.24 10:00", "2.2.24 11:30"], "kept as text: years of two digits"),
    ],
)
def test_a_value_that_could_mean_another_is_noted(
    tmp_path: Path, cells: list[str], delimiter: str, values: list[Any], note: str | None, rows: int
) -> None:
    (tmp_path / "a.csv").write_text(f"a{delimiter}b\n" + "".join(f"{cell}{delimiter}x\n" for cell in cells) * rows)
    frame, _, notes, _ = read(tmp_path / "a.csv", "a.csv")
    assert frame["a"].to_list()[:2] == values
    assert notes.get("a", "").startswith(note) if note else notes == {}


def test_a_mark_within_the_quotes_of_the_first_name_is_no_part_of_it(table: Read) -> None:
    assert table('"\ufeffa",b\n1,2\n').columns == ["a", "b"]
    assert table('\ufeff"\ufeffa, x",b\n1,2\n').columns == ["a, x", "b"]


def test_an_ingest_notes_infinite_numbers_that_it_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\ninf,1.5\n2,-3\n")
    opened = open_rows(tmp_path / "a.csv", "a.csv", NOTHING_STATED, lambda name: True)
    assert list(opened.rows) == [{"a": None, "b": 1.5}, {"a": 2.0, "b": -3.0}]
    assert opened.notes == ["a: infinite numbers are read as missing"]
