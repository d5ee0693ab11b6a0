"""Filters are parsed by the type of their field, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from services.search.queries.filters import AnyOf, Range, conditions
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
        ({"at": "2026-05-01"}, AnyOf("fields.at", "datetime", ("2026-05-01T00:00:00Z",))),
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
