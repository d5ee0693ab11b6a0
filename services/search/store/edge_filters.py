"""Conditions and field types in the form of the embedded engine.

The engine takes a Python bool for an integer, so a filter on one never matches: bools are also stored as keywords under
``flags``, and filtered there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import qdrant_edge as edge
from pydantic import JsonValue

from services.search.queries.filters import (
    Among,
    AnyOf,
    Condition,
    Conditions,
    Either,
    Missing,
    Not,
    Prefix,
    Range,
    Within,
)
from services.search.queries.values import Scalar
from services.search.store.port import CONTENT, LENGTH, PASSAGE
from shared.contracts.search import FieldType


def translate(conditions: Conditions) -> edge.Filter | None:
    """Return all of the conditions together; None without conditions."""
    return _all(conditions) if conditions else None


def indexes(fields: Mapping[str, FieldType]) -> Iterator[tuple[str, Any]]:
    """Yield every payload key to index, and how."""
    for key in ("record", "facet"):
        yield key, edge.KeywordIndexParams()
    for key in (LENGTH, CONTENT):
        yield key, edge.IntegerIndexParams(lookup=True)
    yield PASSAGE, edge.IntegerIndexParams(range=True)
    for name, kind in fields.items():
        yield (f"flags.{name}" if kind == "bool" else f"fields.{name}"), _index(kind)


def with_flags(payload: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the payload, with its bools repeated as keywords."""
    fields = payload.get("fields")
    flags: dict[str, JsonValue] = {}
    if isinstance(fields, dict):
        flags = {name: _word(value) for name, value in fields.items() if isinstance(value, bool)}
        for name, value in fields.items():
            if isinstance(value, list) and any(isinstance(item, bool) for item in value):
                flags[name] = [_word(item) for item in value if isinstance(item, bool)]
    return {**payload, "flags": flags} if flags else dict(payload)


def _word(value: bool) -> str:
    return "true" if value else "false"


def _index(kind: FieldType) -> Any:  # noqa: ANN401 - the engine is untyped
    match kind:
        case "integer":
            return edge.IntegerIndexParams(lookup=True, range=True)
        case "float":
            return edge.FloatIndexParams()
        case "datetime":
            return edge.DatetimeIndexParams()
        case "geo":
            return edge.GeoIndexParams()
        case "text":
            return edge.TextIndexParams(tokenizer=edge.TokenizerType.Word, lowercase=True)
        case "keyword" | "bool":
            return edge.KeywordIndexParams()


def _condition(condition: Condition) -> Any:  # noqa: ANN401
    match condition:
        case Among(ids):
            return edge.HasIdCondition(set(ids))
        case Not(conditions):
            return edge.Filter(must_not=[_all(conditions)])
        case Either(alternatives):
            return edge.Filter(should=[_all(conditions) for conditions in alternatives])
        case AnyOf():
            return _any_of(condition)
    return _of_field(condition)


def _of_field(condition: Missing | Prefix | Within | Range) -> Any:  # noqa: ANN401
    match condition:
        case Missing(key):
            return edge.IsEmptyCondition(key)
        case Prefix(key, texts):
            return edge.Filter(should=[edge.FieldCondition(key, match=edge.MatchPrefix(text)) for text in texts])
        case Within(key, latitude, longitude, km):
            radius = edge.GeoRadius(edge.GeoPoint(longitude, latitude), km * 1000)
            return edge.FieldCondition(key, geo_radius=radius)
        case Range():
            return edge.FieldCondition(condition.key, range=_bounds(condition))


def _any_of(condition: AnyOf) -> Any:  # noqa: ANN401
    match condition:
        case AnyOf(key, "bool", values):
            words = [_word(bool(value)) for value in values]
            return edge.FieldCondition(key.replace("fields.", "flags.", 1), match=edge.MatchAny(words))
        case AnyOf(key, "keyword" | "integer", values):
            every: Any = list(values)
            return edge.FieldCondition(key, match=edge.MatchAny(every))
    return edge.Filter(should=[_equals(condition, value) for value in condition.values])


def _all(conditions: Conditions) -> Any:  # noqa: ANN401
    return edge.Filter(must=[_condition(condition) for condition in conditions])


def _equals(condition: AnyOf, value: Scalar) -> Any:  # noqa: ANN401
    if condition.type == "text":
        return edge.FieldCondition(condition.key, match=edge.MatchText(str(value)))
    return edge.FieldCondition(condition.key, range=_bounds(Range(condition.key, condition.type, value, value)))


def _bounds(bounds: Range) -> Any:  # noqa: ANN401
    given: Any = {"gte": bounds.gte, "lte": bounds.lte, "gt": bounds.gt, "lt": bounds.lt}
    return edge.RangeDateTime(**given) if bounds.type == "datetime" else edge.RangeFloat(**given)
