"""A file's columns become a table: by their names, their contents, and what the caller says."""

from __future__ import annotations

import polars as pl
import pytest

from assay.commands.infer import PROFILE, Inferred, infer, profiles
from assay.commands.session import UsageError

LONG = "A sentence that is long enough to be taken for prose by anybody who reads it"
TALKS = pl.DataFrame(
    {
        "talk_id": ["t1", "t2", "t3"],
        "title": ["One", "Two", "Three"],
        "abstract": [f"{LONG} {n}" for n in range(3)],
        "speaker bio": [LONG] * 3,
        "bio": [LONG] * 3,
        "track": ["web", "web", "data"],
        "seats": [10, 20, None],
        "price": [1.5, 2.0, 3.0],
        "live": [True, False, True],
        "tags": [["a"], ["b"], []],
        "more": [{"x": 1}] * 3,
    }
)


def inferred(
    frame: pl.DataFrame, *text: str, id: str | None = None, name: str | None = None, auto: bool = False
) -> Inferred:
    scope = {"data": frame}
    exec(PROFILE, scope)
    made = scope["result"]
    return infer(profiles(made.rows(), made.columns), id, name, text, auto)


def test_columns_are_what_their_names_and_contents_say() -> None:
    made = inferred(TALKS)
    assert made.mapping == {"id": "talk_id", "name": "title", "text": ["abstract"]}
    assert made.table == {
        "facets": {"bio": 1.0},
        "fields": {"track": "keyword", "seats": "integer", "price": "float", "live": "bool", "tags": "keyword"},
    }
    assert made.left == ["speaker bio", "more"]
    assert made.role("track") == "field: keyword"


def test_what_the_caller_says_counts() -> None:
    made = inferred(TALKS, "bio", "abstract", name="track", auto=True)
    assert made.mapping == {"id": None, "name": "track", "text": ["bio", "abstract"]}
    assert "talk_id" in made.fields
    with pytest.raises(UsageError, match="no column 'nope'; it has talk_id"):
        inferred(TALKS, id="nope")


def test_rows_in_the_shape_of_records_are_opened() -> None:
    made = inferred(
        pl.DataFrame({"id": ["a", "b"], "facets": [{"topic": "x"}] * 2, "fields": [{"seats": 3, "l": ["x"]}] * 2})
    )
    assert made.table == {"facets": {"topic": 1.0}, "fields": {"seats": "integer", "l": "keyword"}}
    assert (made.role("facets"), made.left) == ("its own facets", [])


def test_a_column_with_gaps_or_repeats_is_no_id() -> None:
    frame = pl.DataFrame({"id": ["a", "a", None], "user_id": [1, 2, 3], "paid": ["x", "y", "z"]})
    assert inferred(frame).id == "user_id"
    assert inferred(frame.drop("user_id")).id is None


def test_records_without_any_words_are_named_after_the_column_that_tells_them_apart() -> None:
    made = inferred(pl.DataFrame({"region": ["N", "N", "S"], "city": ["Oslo", "Bergen", "Rome"], "n": [1, 2, 3]}))
    assert (made.name, made.fields) == ("city", {"region": "keyword", "n": "integer"})
    numbers = inferred(pl.DataFrame({"a": [1, 2], "b": [2.5, 3.5]}))
    assert (numbers.name, numbers.fields) == (None, {"a": "integer", "b": "float"})
