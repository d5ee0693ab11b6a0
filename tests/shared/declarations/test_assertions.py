"""Assertions parse, or say where they do not."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.contracts.transform import TransformInput
from shared.declarations.assertions import (
    Assertion,
    ColumnsAre,
    ColumnsContain,
    EachRow,
    Matches,
    NoNulls,
    References,
    RowCount,
    RowsAgainstInput,
    RowsUnchanged,
    Sorted,
    SumAgainstInput,
    SumUnchanged,
    Tolerance,
    TypeIs,
    Unique,
    parse_assertion,
)
from shared.declarations.scan import AssertionSyntax, Condition


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("rows == 12", RowCount("==", 12)),
        ("rows=12", RowCount("==", 12)),
        (" rows  <= 1_000 ", RowCount("<=", 1000)),
        ("ROWS != 0", RowCount("!=", 0)),
        ("rows unchanged", RowsUnchanged()),
        ("columns contain a, b c", ColumnsContain(("a", "b c"))),
        ('columns contain "x, y", z', ColumnsContain(("x, y", "z"))),
        ("unique(a, `b)c`)", Unique(("a", "b)c"))),
        ("no_nulls(größe)", NoNulls(("größe",))),
        ("sum( total amount ) unchanged", SumUnchanged("total amount")),
        ("sum(a) unchanged within 0.5", SumAgainstInput("a", "a", within=Tolerance(0.5, relative=False))),
        ("sum(a) == sum(b) within 1 %", SumAgainstInput("a", "b", within=Tolerance(0.01, relative=True))),
        ("amount > 0", EachRow((Condition("amount", ">", 0),))),
        (
            "unit_price2 >= 0.5 and kind != x",
            EachRow((Condition("unit_price2", ">=", 0.5), Condition("kind", "!=", "x"))),
        ),
        ("`rows` > 5", EachRow((Condition("rows", ">", 5),))),
        ("between == 3", EachRow((Condition("between", "==", 3),))),
        ("between(a, -1, 1e3)", EachRow((Condition("a", ">=", -1.0), Condition("a", "<=", 1000.0)))),
        ("matches(zip, '[0-9]{5}')", Matches("zip", "[0-9]{5}")),
        ("references(customer, customers.id)", References("customer", "customers", "id")),
    ],
)
def test_every_form_parses(text: str, parsed: Assertion) -> None:
    assert parse_assertion(text) == parsed


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("rowz == 12", 1),
        ("rows ~ 12", 6),
        ("rows == twelve", 9),
        ("rows == -1", 9),
        ("rows == 12 and more", 12),
        ("columns hold a", 9),
        ("columns contain a,,b", 19),
        ("unique a", 8),
        ("unique(a", 9),
        ("unique()", 8),
        ("sum(a, b) unchanged", 4),
        ("sum(a) changed", 8),
        ("no_nulls('a)", 10),
        ("row == 12", 1),
        ("amount", 1),
        ("amount > ", 1),
        ("matches(a, [)", 12),
        ("matches(a, '[')", 11),
        ("references(a, b)", 14),
        ("between(a, 1)", 13),
        ("sum(a) unchanged within x", 25),
        ("  ", 3),
    ],
)
def test_what_does_not_parse_is_named_with_its_position(text: str, position: int) -> None:
    with pytest.raises(AssertionSyntax) as caught:
        parse_assertion(text)
    assert caught.value.position == position
    assert repr(text) in str(caught.value)
    assert f"position {position}" in str(caught.value)


def test_a_submit_with_a_bad_assertion_is_refused_at_its_place_in_the_list() -> None:
    with pytest.raises(ValidationError) as caught:
        TransformInput.model_validate(
            {"task": "t", "data": [{"csv": "a\n1\n"}], "assertions": ["rows == 1", "unique[a]"]}
        )
    (error,) = caught.value.errors()
    assert error["loc"] == ("assertions", 1)
    assert "unique[a]" in error["msg"]
    assert "position 7" in error["msg"]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("rows <= input", RowsAgainstInput("<=")),
        ("rows = distinct(city, 'a b')", RowsAgainstInput("==", distinct=("city", "a b"))),
        (
            "rows == count(kind == rain and `a (b)` >= 3.5)",
            RowsAgainstInput("==", conditions=(Condition("kind", "==", "rain"), Condition("a (b)", ">=", 3.5))),
        ),
        ("rows > count(x == missing)", RowsAgainstInput(">", conditions=(Condition("x", "==", None),))),
        ("rows > count(x == 'missing')", RowsAgainstInput(">", conditions=(Condition("x", "==", "missing"),))),
        ("columns are a, b c", ColumnsAre(("a", "b c"))),
        ("sum(n) == sum(amount)", SumAgainstInput("n", "amount")),
        ("sum(n) == input", SumAgainstInput("n", None)),
        ("sum(n) == count(a != 1)", SumAgainstInput("n", None, (Condition("a", "!=", 1),))),
        ("type(a) is Float", TypeIs("a", "float")),
        ("sorted(a desc, `b desc`, c asc)", Sorted((("a", True), ("b desc", False), ("c", False)))),
    ],
)
def test_a_result_is_compared_with_the_input(text: str, parsed: object) -> None:
    assert parse_assertion(text) == parsed


@pytest.mark.parametrize(
    "text",
    [
        "rows == count()",
        "rows == count(a)",
        "rows == count(a > 1 and)",
        "rows == distinct",
        "sum(a) == max(b)",
        "type(a)",
        "type(a, b) is int",
        "sorted()",
        "sorted(a",
        "columns are",
        "sum(a) > 3",
        "rows == count(" + " and ".join(["a > 1"] * 21) + ")",
    ],
)
def test_half_of_such_a_comparison_does_not_parse(text: str) -> None:
    with pytest.raises(AssertionSyntax):
        parse_assertion(text)
