"""Marks for missing values that are values: Namibia's code, and names such as Null; decided by the column."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from shared.reading import large_text
from shared.reading.large_text import to_parquet
from shared.reading.read import column_notes_of, read
from shared.reading.stated import Stated

Cells = list[str]
#: name of the column and its cells; the values that they mean, and a part of the note
COLUMNS: dict[str, tuple[str, Cells, list[str | float | None], str]] = {
    "codes of countries": ("geo", ["NA", "DE", "FR", "NA"], ["NA", "DE", "FR", "NA"], "kept as values"),
    "codes with a gap": ("geo", ["NA", "DE", "NULL", "FR"], ["NA", "DE", None, "FR"], "read as missing: 'NULL' x 1"),
    "countries": ("geo", ["NA", "Germany", "FR", "US"], [None, "Germany", "FR", "US"], "'NA' x 1 (an empty text"),
    "nothing but marks": ("geo", ["NA", "NA", "NA"], [None, None, None], "'NA' x 3"),
    "letters": ("g", ["NA", "a", "b"], [None, "a", "b"], "'NA' x 1"),
    "names": ("last name", ["Null", "None", "Nan", "NULL"], ["Null", "None", "Nan", None], "kept as values"),
    "names in capitals": ("SURNAME", ["NULL", "SMITH", "NA"], ["NULL", "SMITH", "NA"], "'NA' x 1, 'NULL' x 1"),
    "names in small letters": ("surname", ["null", "smith", "NA"], ["null", "smith", None], "'null' x 1"),
    "words": ("status", ["None", "Open", "Done"], [None, "Open", "Done"], "'None' x 1 (an empty text"),
    "numbers": ("last", ["None", "1", "2"], [None, 1, 2], "'None' x 1"),
}


def _text(name: str, cells: Cells) -> bytes:
    return "\n".join([f"k,{name}", *(f"r{number},{cell}" for number, cell in enumerate(cells)), ""]).encode()


def _sheet(name: str, cells: Cells) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in [("k", name), *((f"r{number}", cell) for number, cell in enumerate(cells))]:
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _page(name: str, cells: Cells) -> bytes:
    rows = [("k", name), *((f"r{number}", cell) for number, cell in enumerate(cells))]
    return "".join(["<table>", *(f"<tr><td>{key}</td><td>{cell}</td></tr>" for key, cell in rows), "</table>"]).encode()


@pytest.mark.parametrize("form", [_text, _sheet, _page])
@pytest.mark.parametrize("case", COLUMNS)
def test_the_column_decides(tmp_path: Path, form: Callable[[str, Cells], bytes], case: str) -> None:
    name, cells, expected, note = COLUMNS[case]
    (tmp_path / "file").write_bytes(form(name, cells))
    frame, _, columns, _ = read(tmp_path / "file", "file")
    assert frame[name].to_list() == expected
    assert note in columns[name]


@pytest.mark.parametrize("form", [_text, _sheet, _page])
def test_the_caller_decides_otherwise(tmp_path: Path, form: Callable[[str, Cells], bytes]) -> None:
    for name, cells, *_ in COLUMNS.values():
        (tmp_path / "file").write_bytes(form(name, cells))
        assert read(tmp_path / "file", "file", Stated(na_values=("",))).frame[name].to_list() == cells
        kept = [None if cell == "NA" else cell for cell in cells]
        if "NA" in cells and any(kept):
            assert read(tmp_path / "file", "file", Stated(na_values=("", "NA"))).frame[name].to_list() == kept
            assert None in read(tmp_path / "file", "file", Stated(na_values=("NA",))).frame[name].to_list()


def test_a_column_keeps_its_marks_in_all_pieces_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_text, "PIECE_BYTES", 100)
    cells = ["DE", "FR", "US", *["NA", "NA", "PT"] * 40]
    table = to_parquet(io.BytesIO(_text("geo", cells)), False, Stated(), tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet")["geo"].to_list() == cells
    assert "'NA' x 80" in column_notes_of(table.columns)["geo"]
