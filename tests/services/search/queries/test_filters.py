"""Filters are parsed by the type of their field, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from services.search.queries.filters import AnyOf, Range, conditions, meant, typed
from shared.contracts.search import FieldType
from shared.errors import InvalidRequest, UnknownField

FIELDS: dict[str, FieldType] = {
    "track": "keyword",
    "seats": "integer",
    "price": "float",
    "open": "bool",
    "at": "datetime",
}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"track": "web"}, AnyOf("fields.track", "keyword", ("web",))),
        ({"track": ["web", "ai"]}, AnyOf("fields.track", "keyword", ("web", "ai"))),
        ({"seats": 3.0}, AnyOf("fields.seats", "integer", (3,))),
        ({"open": True}, AnyOf("fields.open", "bool", (True,))),
        ({"price": {"gte": 1, "lt": 2.5}}, Range("fields.price", "float", gte=1.0, lt=2.5)),
        ({"seats": {"gt": 1.5}}, Range("fields.seats", "integer", gt=1.5)),
        ({"at": "2026-05-01"}, Range("fields.at", "datetime", gte="2026-05-01T00:00:00Z", lt="2026-05-02T00:00:00Z")),
        ({"at": "2026-05-01T00:00:00Z"}, AnyOf("fields.at", "datetime", ("2026-05-01T00:00:00Z",))),
        ({"at": {"lte": "2026-05-01"}}, Range("fields.at", "datetime", lt="2026-05-02T00:00:00Z")),
        ({"at": {"gt": "2026-12-31"}}, Range("fields.at", "datetime", gte="2027-01-01T00:00:00Z")),
        (
            {"at": {"gte": "2026-05-01", "lt": "2026-05-02"}},
            Range("fields.at", "datetime", gte="2026-05-01T00:00:00Z", lt="2026-05-02T00:00:00Z"),
        ),
        ({"at": {"lte": "2026-05-01T12:00:00+02:00"}}, Range("fields.at", "datetime", lte="2026-05-01T10:00:00Z")),
    ],
)
def test_a_filter_becomes_a_condition_of_its_fields_type(filters: Any, expected: AnyOf | Range) -> None:
    assert conditions(filters, FIELDS, "sessions") == (expected,)


@pytest.mark.parametrize(
    "filters",
    [
        {"seats": True},
        {"seats": 2.5},
        {"seats": 2**63},
        {"price": 1e309},
        {"open": "true"},
        {"open": {"gte": False}},
        {"track": 7},
        {"track": []},
        {"at": "tomorrow"},
        {"at": "9999-12-31"},
        {"at": "2026-02-30"},
        {"at": {"lte": "2026-13-01"}},
        {"at": "9999-12-31T23:59:59-12:00"},
        {"price": {"above": 1}},
        {"price": {}},
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_name_of_its_field(filters: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"'{next(iter(filters))}'"):
        conditions(filters, FIELDS, "sessions")


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownField, match="at, open, price, seats, track"):
        conditions({"colour": "red"}, FIELDS, "sessions")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("1993", "integer", 1993),
        ("1.0", "integer", 1),
        (" 4433 ", "integer", 4433),
        ("-7", "integer", -7),
        ("1.299.000", "integer", 1_299_000),
        ("1 299", "integer", 1299),
        ("8.1", "float", 8.1),
        ("19,99", "float", 19.99),
        ("1.299,00", "float", 1299.0),
        ("1,299.00", "float", 1299.0),
        ("1\u202f299,5", "float", 1299.5),
        ("1'299.5", "float", 1299.5),
        ("-0,5", "float", -0.5),
        (",5", "float", 0.5),
        ("1e3", "float", 1000.0),
        ("true", "bool", True),
        ("No", "bool", False),
        (1, "bool", True),
        ("0", "bool", False),
        (4433, "keyword", "4433"),
        (4433.0, "keyword", "4433"),
        (4.5, "keyword", "4.5"),
        (True, "keyword", "true"),
        ({"gt": "8.1"}, "float", None),
    ],
)
def test_what_files_and_models_mean_is_taken(value: Any, kind: FieldType, expected: object) -> None:
    if isinstance(value, dict):
        assert conditions({"price": meant(value, kind)}, FIELDS, "t") == (Range("fields.price", "float", gt=8.1),)
    else:
        own = typed("f", meant(value, kind), kind)
        assert (own, type(own)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "kind"),
    [("1,299", "float"), ("1,299", "integer"), ("1.5", "integer"), ("nan", "float"), ("1_000", "integer"),
     ("maybe", "bool"), ("2", "bool"), ("one", "integer"), ("", "float"), ("9" * 50, "integer")],
)  # fmt: skip
def test_what_may_mean_two_things_is_refused(value: str, kind: FieldType) -> None:
    with pytest.raises(InvalidRequest):
        typed("f", meant(value, kind), kind)
