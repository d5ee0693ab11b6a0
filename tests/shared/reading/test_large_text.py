"""A text table that is read piece by piece has the cells, types and notes of one that is read at once."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from shared.reading import large_text
from shared.reading.large_parquet import NamesRepeat, look_at
from shared.reading.large_text import StreamedTable, to_parquet
from shared.reading.read import answer_streamed, read
from shared.reading.source import Unreadable
from shared.reading.stated import Stated

PIECE = 150  #: bytes


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_text, "PIECE_BYTES", PIECE)


def stream(content: bytes, tmp_path: Path, encoding: str | None = None) -> tuple[pl.DataFrame, StreamedTable]:
    table = to_parquet(io.BytesIO(content), False, Stated(encoding=encoding), tmp_path / "out.parquet")
    return pl.read_parquet(tmp_path / "out.parquet"), table


def rows_of(cells: list[str], header: str = "n,cell") -> bytes:
    return "\n".join([header, *(f"{number},{cell}" for number, cell in enumerate(cells)), ""]).encode()


WORDS = [f"word {number}" for number in range(60)]
SAME = {
    "whole numbers": [str(number) for number in range(100)],
    "a fraction late": [*map(str, range(100)), "1.5"],
    "a fraction first": ["1.5", *map(str, range(100))],
    "text late": [*map(str, range(100)), "x"],
    "text first": ["x", *map(str, range(100))],
    "nothing at first": [*[""] * 100, "7"],
    "nothing late": ["7", *[""] * 100],
    "nothing at all": [""] * 100,
    "spellings of missing": [*["NA", "1", "null"] * 40, "2"],
    "missing in text": ["NA", *WORDS, "NULL", "-"],
    "days": [f"2024-01-{day:02}" for day in range(1, 29)] * 3,
    "days and text": [*[f"2024-01-{day:02}" for day in range(1, 29)] * 3, "soon"],
    "names of months": [*["5 April 2024"] * 60, *["14 août 2024"] * 60, *["1. März 2024"] * 60],
    "times of day": ["8:30", "10:15"] * 60,
    "moments": [f"2024-01-{day:02} 10:{day:02}:00" for day in range(1, 29)] * 3,
    "truths": ["true", "false"] * 50,
    "leading zeros": [*map(str, range(100, 200)), "007"],
    "grouped": [*map(str, range(100)), '"1,234"', '"12,345"'],
    "more digits than a number keeps": [*map(str, range(100)), "12345678901234567890"],
    "line ends in cells": ['"a\nb"', '"say ""so"""', "c"] * 40,
    "signs of many bytes": ["é", "日本", "🙂"] * 40,
}


@pytest.mark.parametrize("cells", SAME.values(), ids=SAME.keys())
def test_it_is_read_like_a_small_file(cells: list[str], tmp_path: Path) -> None:
    content = rows_of(cells)
    (tmp_path / "in.csv").write_bytes(content)
    assert len(content) > 2 * PIECE
    expected, _, _, _ = read(tmp_path / "in.csv", "in.csv")
    frame, _ = stream(content, tmp_path)
    assert_frame_equal(frame, expected)


def test_missing_cells_of_all_pieces_are_counted(tmp_path: Path) -> None:
    _, table = stream(rows_of(["NA", "1"] * 60), tmp_path)
    assert table.columns["cell"].missing == {"NA": 60}


def test_names_that_are_repeated_in_several_pieces_are_no_rows(tmp_path: Path) -> None:
    content = b"n,cell\n" + b"".join(
        b"%d,%d\n" % (number, number) + b"n,cell\n" * (number % 20 == 0) for number in range(99)
    )
    frame, table = stream(content, tmp_path)
    assert frame.rows() == [(number, number) for number in range(99)]
    assert "5 rows left out: the names of the columns again" in table.notes


def test_what_parts_read_differently_is_text(tmp_path: Path) -> None:
    """1.234 is a thousand where there are decimal commas, and only one part of the file shows them."""
    content = "\n".join(["n;cell", *(f"{at};1.234" for at in range(60)), *(f"{at};1,5" for at in range(60))])
    frame, table = stream(content.encode(), tmp_path)
    assert frame.schema["cell"] == pl.String
    assert "not all of its cells" in table.columns["cell"].note


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (rows_of([*WORDS, "a,b", *WORDS]), "line 62 has 3 fields, the header has 2"),
        (rows_of(WORDS) + b"7\n" + rows_of(WORDS), "line 62 has 1 fields, the header has 2"),
        (b'"a\nb",c\n' + rows_of([*WORDS, "a,b"], "1,2"), "line 64 has 3 fields"),
        (b"a,b\n", "no rows"),
    ],
)
def test_bad_rows_are_named_by_their_line_in_the_file(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=message):
        stream(content, tmp_path)


def test_names_that_are_used_more_than_once_are_numbered(tmp_path: Path) -> None:
    frame, table = stream(b"a,b,a\n" + b"1,x,2\n" * 200, tmp_path)
    assert frame.rows() == [(1, "x", 2)] * 200
    assert frame.columns == ["a", "b", "a_2"]
    assert table.notes == ["column names used more than once were numbered: a_2"]


def test_other_encodings(tmp_path: Path) -> None:
    rows = rows_of(["naïve café"] * 60)
    for encoding, stated in (("cp1252", None), ("latin-1", "latin-1"), ("utf-8-sig", None)):
        frame, _ = stream(rows.decode().encode(encoding), tmp_path, stated)
        assert frame["cell"].unique().to_list() == ["naïve café"]
        assert frame.columns == ["n", "cell"]
    with pytest.raises(Unreadable, match="save larger files as UTF-8"):
        stream(rows.decode().encode("utf-16"), tmp_path, "utf-16")
    with pytest.raises(Unreadable, match="no text encoding"):
        stream(rows, tmp_path, "nonsense")


def test_damaged_utf8_is_read_as_utf8_and_its_lines_are_named(tmp_path: Path) -> None:
    content = rows_of(["größe"] * 60) + b"60,Caf\xe9\n"
    frame, table = stream(content, tmp_path)
    assert frame["cell"].to_list() == [*["größe"] * 60, "Caf\ufffd"]
    assert (table.encoding, table.notes) == ("utf-8", ["not UTF-8, read as \ufffd: 1 byte in line 62"])


def test_a_cut_last_sign_is_damage_too(tmp_path: Path) -> None:
    frame, table = stream(rows_of(["größe"] * 60) + b"60,Caf\xc3", tmp_path)
    assert frame["cell"][-1] == "Caf\ufffd"
    assert table.notes == ["not UTF-8, read as \ufffd: 1 byte in line 62"]


@pytest.mark.parametrize(
    ("word", "encoding", "found"),
    [
        ("Насос для воды", "cp1251", "windows-1251"),
        ("東京の記録", "shift_jis", "cp932"),
        ("Αντλία νερού", "cp1253", "windows-1253"),
        ("北京的水泵", "gbk", "gb18030"),
        ("서울특별시", "euc_kr", "cp949"),
        ("臺北市", "big5", "cp950"),
    ],
)
def test_the_encoding_of_another_script_is_found(word: str, encoding: str, found: str, tmp_path: Path) -> None:
    frame, table = stream(rows_of([word] * 60).decode().encode(encoding), tmp_path)
    assert (frame["cell"].unique().to_list(), table.encoding) == ([word], found)


@pytest.mark.parametrize(
    ("word", "encoding"), [("ﾔﾏﾀﾞ ﾀﾛｳ", "cp932"), ("НАИМЕНОВАНИЕ", "koi8-r"), ("שלום עולם", "cp1255")]
)
def test_a_text_of_uncertain_script_is_refused_until_its_encoding_is_stated(
    word: str, encoding: str, tmp_path: Path
) -> None:
    content = rows_of([word] * 60).decode().encode(encoding)
    with pytest.raises(
        Unreadable, match=f"neither UTF-8 nor windows-1252: state its encoding, such as .*{encoding[-4:]}"
    ):
        stream(content, tmp_path)
    frame, _ = stream(content, tmp_path, encoding)
    assert frame["cell"].unique().to_list() == [word]


@pytest.mark.parametrize("seed", range(8))
def test_random_tables(seed: int, tmp_path: Path) -> None:
    """Quotes, delimiters and line ends anywhere: the cells come back."""
    chance = random.Random(seed)
    signs = ["a", "b", " ", ",", "\n", '"', "é", ";"]
    cells = [["".join(chance.choices(signs, k=chance.randint(1, 30))) for _ in range(3)] for _ in range(80)]
    text = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [["x", "y", "z"], *cells])
    frame, _ = stream(text.encode() + b"\n", tmp_path)
    small = tmp_path / "in.csv"
    small.write_bytes(text.encode() + b"\n")
    assert_frame_equal(frame, read(small, "in.csv", Stated(delimiter=","))[0])


def test_blanks_before_quotes_are_left_out_of_all_pieces(tmp_path: Path) -> None:
    content = '"a", "b"\n' + "".join(f'"x, {number}", "y ""{number}"""\n' for number in range(100))
    frame, table = stream(content.encode(), tmp_path)
    (tmp_path / "t.csv").write_text(content)
    whole = read(tmp_path / "t.csv", "t.csv")
    assert frame.rows() == [(f"x, {number}", f'y "{number}"') for number in range(100)]
    assert_frame_equal(frame, whole.frame)
    assert table.notes == whole.notes == ["blanks between a delimiter and a quote left out"]


def test_a_large_parquet_file_gets_the_numbered_names_of_a_small_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = pa.table([pa.array([1, 4]), pa.array([2, 5]), pa.array([3, None])], names=["a", "A", "a"])
    pq.write_table(pair, tmp_path / "pair.parquet")
    with pytest.raises(NamesRepeat), pa.memory_map(str(tmp_path / "pair.parquet")) as source:
        look_at(source)
    with (tmp_path / "pair.parquet").open("rb") as file:
        answer_streamed(file, "pair.parquet", 10, str(tmp_path / "out.parquet"), {})
    report = json.loads(capsys.readouterr().out)
    small = read(tmp_path / "pair.parquet", "pair.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), small.frame)
    assert list(report["types"]) == small.frame.columns == ["a", "A", "a_2"]
    assert report["notes"] == small.notes
    assert report["lazy"]
