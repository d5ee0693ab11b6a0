"""Altered copies of tables: of every type, also of values at its limits."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import polars as pl
import pytest

from services.execution.transform.origin.alterations import ALTERATIONS, other_values
from services.execution.transform.origin.compare import changed, comparable

WIDE = pl.DataFrame(
    {
        "int": [1, -5, None],
        "long": [2**63 - 1, -(2**63) + 1, 0],
        "float": [0.5, float("inf"), float("nan")],
        "decimal": [Decimal("1.50"), Decimal("2.25"), None],
        "bool": [True, False, None],
        "text": ["Zürich 12", "", None],
        "day": [date(2024, 2, 29), date(1999, 12, 31), None],
        "moment": [datetime(2024, 1, 1, 12), datetime(2000, 1, 1), None],
        "zoned": [datetime(2024, 1, 1, tzinfo=UTC), datetime(2001, 1, 1, tzinfo=UTC), None],
        "time": [time(1, 2), time(23, 59), None],
        "span": [timedelta(days=1), timedelta(seconds=-5), None],
        "list": [[1, 2], [], None],
        "struct": [{"a": 1}, {"a": 2}, None],
        "bytes": [b"a", b"\xff", None],
        "empty": [None, None, None],
    },
    strict=False,
).with_columns(
    pl.Series("tiny", [127, -128, 0], pl.Int8),
    pl.Series("unsigned", [2**64 - 1, 0, 1], pl.UInt64),
    pl.Series("category", ["a", "b", None], pl.Categorical),
    pl.Series("year", [1999, 2024, 2025]),
)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ALTERATIONS)
def test_every_type_keeps_its_columns(name: str, rows: int) -> None:
    altered = ALTERATIONS[name](WIDE.head(rows))
    assert altered.columns[: WIDE.width] == WIDE.columns
    kinds = {name: kind for name, kind in altered.schema.items() if name in WIDE.columns}
    assert kinds == dict(WIDE.schema)


def test_other_values_are_others_and_equal_ones_stay_equal() -> None:
    frame = comparable(WIDE)
    same = set(frame.columns) - changed(frame, comparable(other_values(WIDE)))
    assert same <= {"empty"}
    one = other_values(pl.DataFrame({"key": [3, 1, 3], "name": ["x1", "y", "x1"]}))
    two = other_values(pl.DataFrame({"key": [1, 3], "name": ["y", "x1"]}))
    assert one.join(two, on=["key", "name"]).height == 3, "tables that joined still do"


@pytest.mark.parametrize(
    ("text", "other"),
    [("2024-02-29", "2028-02-29"), ("ab-12", "ec-03"), ("Paris", "Qesot"), ("北京", "北京x")],
)
def test_texts_keep_their_form(text: str, other: str) -> None:
    assert other_values(pl.DataFrame({"a": [text]}))["a"].item() == other


def test_a_constant_stays_one_when_there_are_fewer_rows() -> None:
    base, fewer = pl.DataFrame({"a": ["x"] * 4, "n": [4] * 4}), pl.DataFrame({"a": ["x"] * 2, "n": [2] * 2})
    assert changed(base, fewer) == {"n"}
