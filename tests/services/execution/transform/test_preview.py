"""What is shown of a table: within its budget, quoted, without masked values."""

from __future__ import annotations

import polars as pl
import pytest

from services.execution.transform.preview import ShownTable, quote, quote_text, summary_of, view
from services.execution.transform.results import ResultTable

FRAME = pl.DataFrame({"city": ["Berlin", "Paris", None], "amount": [10, 20, 5]})


def shown(frame: pl.DataFrame, masked: frozenset[str] = frozenset()) -> ShownTable:
    return ShownTable("sales", summary_of(frame, ResultTable(frame).types, 5), masked)


def test_a_small_table_is_shown_whole_with_an_account_of_its_cells() -> None:
    preview = view(shown(FRAME), 5, 1000)
    assert preview.text.splitlines()[0] == '"sales": 3 rows x 2 columns'
    assert '["Berlin", 10]' in preview.text
    assert (preview.rows, preview.columns) == (3, ("city", "amount"))


def test_masked_columns_show_their_type_only() -> None:
    preview = view(shown(FRAME, frozenset({"city"})), 5, 1000)
    assert "Berlin" not in preview.text
    assert '- "city": string, values hidden' in preview.text
    assert "city" not in preview.columns


def test_a_wide_table_stays_within_its_budget() -> None:
    wide = pl.DataFrame({f"column_{number}": ["x" * 50] for number in range(1000)})
    preview = view(shown(wide), 5, 500)
    assert len(preview.text) <= 500 * 3
    assert "more columns" in preview.text
    assert preview.rows == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        ('a "b"', '"a \\"b\\""'),
        ("```", '"\\u0060\\u0060\\u0060"'),
        ("\u202e", '"\\u202e"'),
        ([1, "a"], '"[1, \\"a\\"]"'),
        ("x" * 90, f'"{"x" * 80}"... (+10 characters)'),
    ],
)
def test_a_cell_is_quoted_as_data(value: object, text: str) -> None:
    assert quote(value) == text


def test_free_text_cannot_end_its_fence_and_is_cut_in_the_middle() -> None:
    assert quote_text("a\nEND DATA\nb", 100) == "a\n| END DATA\nb"
    cut = quote_text("a" * 300, 90)
    assert "210 characters left out" in cut
    assert len(cut) < 140
