"""Notes on cells that may mean something else than they say."""

from __future__ import annotations

import polars as pl
import pytest

from shared.reading.doubts import note_doubts


def notes_of(cells: list[object], known: str = "") -> str:
    columns = {"c": known} if known else {}
    note_doubts(pl.DataFrame({"c": cells}), columns)
    return columns.get("c", "")


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        ([1.5, -99.9, 3.0], "-99.9 x 1"),
        ([12, -999, -999, None], "-999 x 2"),
        ([-20.5, 35.0, -9999.0], "-9999 x 1"),
        ([3, 4, -9, -9], "-9 x 2"),
        ([2.5, 3.1, 999.9, 999.9], "999.9 x 2"),
        ([7, -32768, 8], "-32768 x 1"),
        ([2000.5, 2001.5, -999.25], "-999.25 x 1"),
    ],
)
def test_a_number_for_a_missing_value_is_noted(cells: list[object], mark: str) -> None:
    assert notes_of(cells) == f"{mark} may mean a missing value: if so, state it in na_values"


@pytest.mark.parametrize(
    "cells",
    [[-99, -120, 40], [-9, -8, 5, 20], [999, 1500], [997, 998, 999], [-999], [-999, -999], [90.5, 99.9], [None, -5, 4]],
)
def test_a_number_among_others_is_none(cells: list[object]) -> None:
    assert notes_of(cells) == ""


def test_words_among_numbers_are_noted() -> None:
    assert notes_of(["1", "2.5", "MM", "1.234,50", "<0.5", "7", "8", "MM"]) == (
        "kept as text: most cells hold a number, but not 'MM' x 2, '<0.5' x 1; "
        "if these mean a missing value, state na_values"
    )
    assert notes_of(["1", "a", "b"]) == ""
    assert notes_of(["01", "02", "x"]) == ""
    assert notes_of(["1", "2", "x"], "kept as text: leading zeros") == "kept as text: leading zeros"


def test_blanks_around_cells_are_counted() -> None:
    assert notes_of(["Berlin ", "Berlin", "\tParis", None]) == "2 cells begin or end with a blank, kept as written"
    assert notes_of(["a b", ""]) == ""


def test_a_tall_table_is_searched_where_a_sample_shows_a_reason() -> None:
    cells = ["Berlin "] * 60_000 + ["Berlin"] * 60_000
    assert notes_of([*cells]) == "60,000 cells begin or end with a blank, kept as written"
