"""Quotes that CSV does not define: nothing that is written gets lost, and no row is split otherwise."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

import pytest

from shared.reading.delimited import BadRow
from shared.reading.large_text import to_parquet
from shared.reading.quotes import is_regular, requoted
from shared.reading.read import read
from shared.reading.rows import open_rows
from shared.reading.source import Unreadable
from shared.reading.stated import NOTHING_STATED

NOTE = "text behind a closing quote, kept with its quotes: line"

#: The rows below a header ``a,b``; the cells; the line that the note names, if there is one.
_CELLS: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "a letter": ('"a"x,b\n', [('"a"x', "b")], " 2"),
    "inches": ('"5" pipe,b\n', [('"5" pipe', "b")], " 2"),
    "the last cell": ('q,"a"y"\n', [("q", '"a"y"')], " 2"),
    "no line end": ('q,"a"y', [("q", '"a"y')], " 2"),
    "more quotes": ('"a"b"c",d\n', [('"a"b"c"', "d")], " 2"),
    "doubled quotes": ('"a""b"x,w\n', [('"a""b"x', "w")], " 2"),
    "a delimiter within quotes": ('"x, y"z,w\n', [('"x, y"z', "w")], " 2"),
    "behind an empty cell": ('""x,w\n', [('""x', "w")], " 2"),
    "a nickname": ('"Bob" Smith,w\nAnn,v\n', [('"Bob" Smith', "w"), ("Ann", "v")], " 2"),
    "two lines": ('"a"x,b\nc,d\ne,"f"g\n', [('"a"x', "b"), ("c", "d"), ("e", '"f"g')], "s 2, 4"),
    "below a cell of two lines": ('"a\nb",c\n"d"e,f\n', [("a\nb", "c"), ('"d"e', "f")], " 4"),
    "Windows' line ends": ('"a"x,b\r\nc,"d"y\r\n', [('"a"x', "b"), ("c", '"d"y')], "s 2, 3"),
    "blanks alone belong to the cell": ('"a" ,b\n', [("a ", "b")], ""),
    "blanks in front of a quote": ('q, "b"\n', [("q", ' "b"')], ""),
    "inches without quotes": ('x,5" pipe\ny,6" pipe\nz,w\n', [("x", '5" pipe'), ("y", '6" pipe'), ("z", "w")], ""),
    "quotes as CSV has them": ('"a ""b"" c","d, e"\n"","f\ng"\n', [('a "b" c', "d, e"), ("", "f\ng")], ""),
}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("case", _CELLS)
def test_every_reader_keeps_what_is_written(tmp_path: Path, case: str, delimiter: str) -> None:
    text, cells, lines = _CELLS[case]
    cells = [(a.replace(",", delimiter), b.replace(",", delimiter)) for a, b in cells]
    path = tmp_path / "data.csv"
    path.write_bytes(("a,b\n" + text).replace(",", delimiter).encode())
    frame, notes, _, _ = read(path, path.name)
    assert [tuple(cell or "" for cell in row) for row in frame.rows()] == cells
    table = open_rows(path, path.name, NOTHING_STATED, lambda name: False)
    rows = list(table.rows)
    assert [(row["a"], row["b"]) for row in rows if not isinstance(row, BadRow)] == cells
    with path.open("rb") as file:
        streamed = to_parquet(file, False, NOTHING_STATED, tmp_path / "table.parquet")
    for given in (notes, table.notes, streamed.notes):
        assert [note for note in given if note.startswith(NOTE)] == ([NOTE + lines] if lines else [])


def test_names_keep_what_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text('"5" pipe,b\n1,2\n')
    assert read(path, path.name)[0].columns == ['"5" pipe', "b"]


def test_a_large_file_keeps_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    lines = [f'{number},"text ""{number}"""' for number in range(200_000)]
    lines[150_000] = '150000,"a"x'
    path.write_text("a,b\n" + "\n".join(lines))
    assert path.stat().st_size > 4_500_000  # more than one block
    frame, notes, _, _ = read(path, path.name)
    assert frame["b"][150_000] == '"a"x'
    assert frame["b"][150_001] == 'text "150001"'
    assert f"{NOTE} 150002" in notes


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n"x,y\nz,w\nq,"r"\n', 2),  # closed by the quote of a cell further down: rows would become one cell
        ('a,b\n1,2\n"x,y\nz,5" pipe\n', 3),
        ('a\tb\n5" pipe\tx\n"y\tz\n', 3),
    ],
)
def test_a_quote_that_joins_rows_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=f"line {line}: a quoted cell that begins here is not closed"):
        read(path, path.name)


def test_what_is_rewritten_is_regular_and_means_the_same() -> None:
    """All texts of six of these signs."""
    for signs in itertools.product('"x,\n', repeat=6):
        text = "".join(signs)
        result = requoted(text.encode(), ",")
        if result.open_line is not None:
            assert not is_regular(text.encode(), ",")
            continue
        assert is_regular(result.content, ","), text
        assert result.content.count(b"\n") == text.count("\n")
        if is_regular(text.encode(), ","):
            assert result.content == text.encode()
        widths = [len(row) for row in csv.reader(io.StringIO(text, newline=""))]
        assert [len(row) for row in csv.reader(io.StringIO(result.content.decode(), newline=""), strict=True)] == widths
