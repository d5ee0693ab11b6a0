"""Filters are parsed by the type of their field, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from services.search.queries.filters import (
    AnyOf,
    Condition,
    Either,
    Missing,
    Not,
    Prefix,
    Range,
    Within,
    as_meant,
    conditions,
    names,
)
from services.search.queries.values import geo_value, meant, point_of, typed
from shared.contracts.search import FieldType
from shared.errors import InvalidRequest, UnknownField

FIELDS: dict[str, FieldType] = {
    "track": "keyword",
    "seats": "integer",
    "price": "float",
    "open": "bool",
    "at": "datetime",
    "place": "geo",
}
_WEB = AnyOf("fields.track", "keyword", ("web",))
_MANY = Range("fields.seats", "integer", gte=100.0)


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
        ({"at": "2026-12"}, Range("fields.at", "datetime", gte="2026-12-01T00:00:00Z", lt="2027-01-01T00:00:00Z")),
        ({"at": {"gt": "2025"}}, Range("fields.at", "datetime", gte="2026-01-01T00:00:00Z")),
        ({"at": {"lte": "2026-02"}}, Range("fields.at", "datetime", lt="2026-03-01T00:00:00Z")),
        ({"track": None}, Missing("fields.track")),
        ({"track": {"not": "web"}}, Not((_WEB,))),
        ({"track": {"not": ["web", "ai"]}}, Not((AnyOf("fields.track", "keyword", ("web", "ai")),))),
        ({"track": {"not": None}}, Not((Missing("fields.track"),))),
        ({"seats": {"not": {"gte": 100}}}, Not((_MANY,))),
        ({"track": [None, "web"]}, Either(((Missing("fields.track"),), (_WEB,)))),
        ({"track": {"prefix": "we"}}, Prefix("fields.track", ("we",))),
        ({"track": {"prefix": ["we", "a"]}}, Prefix("fields.track", ("we", "a"))),
        ({"place": {"within_km": 5, "of": [47.37, 8.54]}}, Within("fields.place", 47.37, 8.54, 5.0)),
        ({"place": {"of": {"lat": 47.37, "lon": 8.54}, "within_km": 0.5}}, Within("fields.place", 47.37, 8.54, 0.5)),
        ({"not": {"track": "web", "seats": {"gte": 100}}}, Not((_WEB, _MANY))),
        ({"or": [{"track": "web"}, {"seats": {"gte": 100}}]}, Either(((_WEB,), (_MANY,)))),
        ({"or": [{"track": "web", "seats": {"gte": 100}}]}, Either(((_WEB, _MANY),))),
        (
            {"or": [{"not": {"track": "web"}}, {"or": [{"track": None}]}]},
            Either(((Not((_WEB,)),), (Either(((Missing("fields.track"),),)),))),
        ),
        (
            {"at": ["2026-05-01", "2026-05-03", "2026-05-05T10:00:00Z"]},
            Either(
                (
                    (Range("fields.at", "datetime", gte="2026-05-01T00:00:00Z", lt="2026-05-02T00:00:00Z"),),
                    (Range("fields.at", "datetime", gte="2026-05-03T00:00:00Z", lt="2026-05-04T00:00:00Z"),),
                    (AnyOf("fields.at", "datetime", ("2026-05-05T10:00:00Z",)),),
                )
            ),
        ),
    ],
)
def test_a_filter_becomes_a_condition_of_its_fields_type(filters: Any, expected: Condition) -> None:
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
        {"seats": {"prefix": "1"}},
        {"track": {"prefix": ""}},
        {"track": {"prefix": [1]}},
        {"track": {"within_km": 5, "of": [47.37, 8.54]}},
        {"place": [47.37, 8.54]},
        {"place": {"within_km": 5}},
        {"place": {"of": [47.37, 8.54]}},
        {"place": {"within_km": 0, "of": [47.37, 8.54]}},
        {"place": {"within_km": True, "of": [47.37, 8.54]}},
        {"place": {"within_km": 5, "of": [97.0, 8.54]}},
        {"track": {"not": 7}},
        {"at": ["2026-05-01", "tomorrow"]},
        {"at": "2026-13"},
        {"at": "9999"},
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_name_of_its_field(filters: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"'{next(iter(filters))}'"):
        conditions(filters, FIELDS, "sessions")


@pytest.mark.parametrize(
    ("filters", "hint", "loc"),
    [
        ({"open": {"ne": True}}, '"not": VALUE', ["filters", "open", "ne"]),
        ({"seats": {"$gte": 5}}, '"gte": VALUE', ["filters", "seats", "$gte"]),
        ({"price": {"between": [1, 2]}}, '"gte": FROM, "lte": TO', ["filters", "price", "between"]),
        ({"place": {"near": [47.37, 8.54], "km": 20}}, '"within_km": KM', ["filters", "place", "near"]),
        ({"track": {"exists": False}}, "null", ["filters", "track", "exists"]),
        ({"price": {"above": 1}}, "gte, lte", ["filters", "price", "above"]),
        ({"or": {"track": "web"}}, '"or" takes a list', ["filters", "or"]),
        ({"or": []}, '"or" takes a list', ["filters", "or"]),
        ({"or": [{"track": "web"}, {}]}, 'each of "or"', ["filters", "or", 1]),
        ({"and": ["web"]}, 'each of "and"', ["filters", "and", 0]),
        ({"not": ["web"]}, '"not" takes an object', ["filters", "not"]),
        ({"or": [{"track": "web"}, {"seats": "many"}]}, "a whole number", ["filters", "or", 1, "seats"]),
        ({"not": {"place": {"within_km": 5, "of": "here"}}}, '"of"', ["filters", "not", "place", "of"]),
    ],
)
def test_a_wrong_filter_is_refused_with_its_place_and_the_right_form(filters: Any, hint: str, loc: list[Any]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        conditions(filters, FIELDS, "sessions")
    assert hint in refusal.value.detail
    assert refusal.value.extra["errors"][0]["loc"] == loc  # type: ignore[index,call-overload]


def test_filters_that_are_nested_without_bound_are_refused() -> None:
    nested: Any = {"track": "web"}
    for _ in range(40):
        nested = {"or": [nested]}
    with pytest.raises(InvalidRequest, match="nested"):
        conditions(nested, FIELDS, "sessions")


def test_two_bounds_that_name_the_same_side_both_hold() -> None:
    both = conditions({"at": {"lte": "2026-05-01", "lt": "2026-04-01T10:00:00Z"}}, FIELDS, "sessions")
    assert both == (
        Range("fields.at", "datetime", lt="2026-05-02T00:00:00Z"),
        Range("fields.at", "datetime", lt="2026-04-01T10:00:00Z"),
    )


def test_a_field_called_or_is_a_field() -> None:
    assert conditions({"or": "x"}, {"or": "keyword"}, "t") == (AnyOf("fields.or", "keyword", ("x",)),)
    assert list(names({"or": [{"a": 1}, {"not": {"b": 2}}], "c": 3}, {})) == ["a", "b", "c"]
    assert list(names({"or": "x"}, {"or": "keyword"})) == ["or"]


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        ({"seats": "1993"}, {"seats": 1993}),
        ({"price": {"gt": "8.1"}}, {"price": {"gt": 8.1}}),
        ({"open": "true"}, {"open": True}),
        ({"open": {"ne": "yes"}}, {"open": {"not": True}}),
        ({"seats": {"$gte": "5", "$lt": 9}}, {"seats": {"gte": 5, "lt": 9}}),
        ({"seats": {"between": ["1", "5"]}}, {"seats": {"gte": 1, "lte": 5}}),
        ({"seats": ">= 8"}, {"seats": {"gte": 8}}),
        ({"seats": "!=8"}, {"seats": {"not": 8}}),
        ({"seats": "10-20"}, {"seats": {"gte": 10, "lte": 20}}),
        ({"seats": {"not": "10 to 20"}}, {"seats": {"not": {"gte": 10, "lte": 20}}}),
        ({"seats": "-5"}, {"seats": -5}),
        ({"seats": "twelve"}, {"seats": 12}),
        ({"seats": {"eq": "3"}}, {"seats": 3}),
        ({"track": {"$in": ["web", 7]}}, {"track": ["web", "7"]}),
        ({"track": {"nin": ["web"]}}, {"track": {"not": ["web"]}}),
        ({"track": {"exists": True}}, {"track": {"not": None}}),
        ({"track": {"is_null": True}}, {"track": None}),
        ({"or": [{"seats": "3"}, {"not": {"open": "no"}}]}, {"or": [{"seats": 3}, {"not": {"open": False}}]}),
        ({"place": {"within_km": 5, "of": [1.5, 2]}}, {"place": {"within_km": 5, "of": [1.5, 2]}}),
    ],
)
def test_what_a_model_writes_is_read_as_it_is_meant(written: Any, ours: Any) -> None:
    assert as_meant(written, FIELDS) == ours
    assert conditions(ours, FIELDS, "t")


@pytest.mark.parametrize(
    "written",
    [
        [47.37, 8.54], {"lat": 47.37, "lon": 8.54}, {"latitude": "47.37", "lng": "8.54"}, "47.37, 8.54", "47.37 8.54",
        {"type": "Point", "coordinates": [8.54, 47.37]},
    ],
)  # fmt: skip
def test_a_point_is_read_however_it_is_written(written: Any) -> None:
    assert point_of(written) == (47.37, 8.54)
    assert geo_value("place", [written]) == [{"lat": 47.37, "lon": 8.54}]


@pytest.mark.parametrize("written", [[91, 0], [0, 181], [1], ["a", "b"], "here", {}, None, [True, 1], 5, []])
def test_what_is_no_point_is_refused(written: Any) -> None:
    assert point_of(written) is None
    with pytest.raises(InvalidRequest, match="'place' takes a point"):
        geo_value("place", written)


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownField, match="at, open, place, price, seats, track"):
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
    ],
)
def test_what_files_and_models_mean_is_taken(value: Any, kind: FieldType, expected: object) -> None:
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
