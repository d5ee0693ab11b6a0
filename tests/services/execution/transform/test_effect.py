"""The effect names what the code did, and an assertion is judged by it."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from services.execution.transform.checks import check
from services.execution.transform.effect import measure

BEFORE = pl.DataFrame({"id": [1, 2, 3], "city": ["B", "P", None], "amount": [1.5, 2.5, 3.0]})


def test_the_same_table_is_a_no_op_whatever_its_number_types() -> None:
    assert measure(BEFORE, BEFORE).no_op
    assert measure(BEFORE, BEFORE.with_columns(pl.col("id").cast(pl.Float64))).no_op
    assert measure(pl.DataFrame({"x": [9]}), BEFORE, [BEFORE]).no_op
    assert not measure(BEFORE, BEFORE.reverse()).no_op
    assert not measure(BEFORE, BEFORE.select("city", "id", "amount")).no_op


def test_every_difference_is_named() -> None:
    after = pl.DataFrame(
        {"key": [1, 2, 3], "city": ["B", "P", "P"], "amount": [1, 2, 3], "day": [date(2024, 1, 1)] * 3}
    )
    effect = measure(BEFORE, after)
    assert effect.columns["renamed"] == {"id": "key"}
    assert effect.columns["added"] == ["day"]
    assert effect.columns["types"] == {"amount": ["float", "int"]}
    assert effect.columns["changed"] == {"city": 1, "amount": 2}
    assert effect.nulls == {"city": [1, 0]}
    assert effect.sums == {"amount": [7.0, 6]}
    for words in ("rows unchanged (3)", "id -> key", "amount float -> int", "city (1 cell)", "amount 7.0 -> 6"):
        assert words in effect.summary


def test_lost_keys_and_new_duplicates_are_named() -> None:
    effect = measure(BEFORE, pl.concat([BEFORE, BEFORE]))
    assert effect.keys["lost"] == ["id"]
    assert effect.duplicates == {"before": 0, "after": 3}
    assert measure(BEFORE, BEFORE.head(0)).keys["lost"] == []


@pytest.mark.parametrize(
    ("assertion", "after", "holds"),
    [
        ("rows == 3", BEFORE, True),
        ("rows > 3", BEFORE, False),
        ("rows unchanged", BEFORE.head(2), False),
        ("columns contain id, city", BEFORE, True),
        ("columns contain id, nope", BEFORE, False),
        ("unique(id)", BEFORE, True),
        ("unique(id)", pl.concat([BEFORE, BEFORE]), False),
        ("unique(nope)", BEFORE, False),
        ("unique(id)", BEFORE.head(0), True),
        ("no_nulls(id)", BEFORE, True),
        ("no_nulls(id, city)", BEFORE, False),
        ("no_nulls(amount)", BEFORE.with_columns(amount=pl.lit(float("nan"))), False),
        ("sum(amount) unchanged", BEFORE.reverse(), True),
        ("sum(amount) unchanged", BEFORE.head(2), False),
        ("sum(city) unchanged", BEFORE, False),
        ("sum(nope) unchanged", BEFORE, False),
    ],
)
def test_assertions_are_judged(assertion: str, after: pl.DataFrame, holds: bool) -> None:
    (one,) = check([assertion], BEFORE, after)
    assert one.holds is holds
    assert one.detail


CUSTOMERS = pl.DataFrame({"id": [1, 2, None]})


@pytest.mark.parametrize(
    ("assertion", "holds", "detail"),
    [
        ("n > 0", True, "every row"),
        ("n > 1", False, "1 of 4 rows"),
        ("n >= 1 and kind != b", False, "1 of 4 rows"),
        ("kind == a", False, "1 of 4 rows"),
        ("n > a", False, "4 of 4 rows|different types|3 of 4 rows"),
        ("nope > 0", False, "no column nope"),
        ("between(n, 1, 3)", True, "every row"),
        ("between(n, 1, 2.5)", False, "1 of 4 rows"),
        ("matches(code, '[A-Z]{2}[0-9]')", False, "1 of 4 rows"),
        ("matches(code, '.*')", True, "every row"),
        (r"matches(code, '(a)\1')", False, "cannot be used"),
        ("references(n, customers.id)", False, "1 of 3 values"),
        ("references(kind, customers.id)", False, "different types"),
        ("references(n, customers.nope)", False, "no data set"),
        ("sum(n) == sum(m) within 1", True, "apart by 1"),
        ("sum(n) == sum(m) within 10%", False, "went from"),
        ("sum(n) == sum(m) within 20%", True, "apart by 1"),
    ],
)
def test_assertions_about_rows_and_other_data_are_judged(assertion: str, holds: bool, detail: str) -> None:
    after = pl.DataFrame({"n": [1, 2, 3, None], "kind": ["a", "a", "b", None], "code": ["AB1", "XY2", "x", None]})
    before = pl.DataFrame({"m": [3, 2]})
    (one,) = check([assertion], before, after, {"data": before, "customers": CUSTOMERS})
    assert one.holds is holds, one.detail
    assert any(part in one.detail for part in detail.split("|")), one.detail


def test_sums_survive_rounding_and_size() -> None:
    tenths = pl.DataFrame({"x": [0.1] * 10})
    assert check(["sum(x) unchanged"], tenths, pl.DataFrame({"x": [1.0]}))[0].holds
    large = pl.DataFrame({"x": [2**62, 2**62, 2**62]})
    assert check(["sum(x) unchanged"], large, large.reverse())[0].holds
    assert not check(["sum(x) unchanged"], large, large.head(2))[0].holds
    assert not check(["sum(x) unchanged"], large, large.with_columns(pl.lit(2**62 + 1).alias("x")))[0].holds
    cancelling = pl.DataFrame({"x": [1e15, 0.1, -1e15, 0.2]})
    assert check(["sum(x) unchanged"], cancelling, cancelling.sort("x"))[0].holds
    assert not check(["sum(x) unchanged"], pl.DataFrame({"x": [1e12, 1.0]}), pl.DataFrame({"x": [1e12, 900.0]}))[
        0
    ].holds


def test_long_whole_numbers_are_told_apart_to_the_last_digit() -> None:
    ids = pl.DataFrame({"id": [9007199254740992, 9007199254740994]})
    effect = measure(ids, ids + 1)
    assert not effect.no_op
    assert effect.columns["changed"] == {"id": 2}


def test_rows_in_another_order_are_not_called_changed() -> None:
    effect = measure(BEFORE, BEFORE.sort("amount", descending=True).with_columns(rank=pl.int_range(3)))
    assert effect.rows_reordered
    assert effect.columns["changed"] == {}
    assert effect.summary == "rows unchanged (3); columns added: rank; rows reordered"
    mixed = measure(BEFORE, BEFORE.with_columns(pl.col("id").reverse()))
    assert not mixed.rows_reordered
    assert mixed.columns["changed"] == {"id": 2}


def test_a_key_with_gaps_is_not_said_to_repeat() -> None:
    assert measure(BEFORE, BEFORE.with_columns(id=pl.Series([1, None, 3]))).keys == {"kept": [], "lost": []}
    assert measure(BEFORE, BEFORE.with_columns(id=pl.Series([1.0, 2.0, 3.0]))).keys == {"kept": [], "lost": []}
    assert measure(BEFORE, BEFORE.with_columns(id=pl.Series([1, None, 1]))).keys["lost"] == ["id"]


def test_sums_without_end_are_not_compared() -> None:
    endless = pl.DataFrame({"x": [float("inf"), 1.0]})
    assert measure(endless, endless.head(1)).sums == {}
    assert check(["sum(x) unchanged"], endless, endless.reverse())[0].holds
    assert not check(["sum(x) unchanged"], endless, endless.tail(1))[0].holds
