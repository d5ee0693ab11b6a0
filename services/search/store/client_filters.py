"""Conditions and field types in the form of Qdrant's client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qdrant_client import models

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

_SCHEMAS: Mapping[FieldType, models.PayloadSchemaType] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "bool": models.PayloadSchemaType.BOOL,
    "datetime": models.PayloadSchemaType.DATETIME,
    "geo": models.PayloadSchemaType.GEO,
}


def translate(conditions: Conditions) -> models.Filter | None:
    """Return all of the conditions together; None without conditions."""
    return _all(conditions) if conditions else None


def indexes(fields: Mapping[str, FieldType]) -> Iterator[tuple[str, Any]]:
    """Yield every payload key to index, and how."""
    for key in ("record", "facet"):
        yield key, models.PayloadSchemaType.KEYWORD
    for key in (LENGTH, CONTENT, PASSAGE):
        yield key, models.PayloadSchemaType.INTEGER
    for name, kind in fields.items():
        if kind == "text":
            text = models.TextIndexParams(
                type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WORD, lowercase=True
            )
            yield f"fields.{name}", text
        else:
            yield f"fields.{name}", _SCHEMAS[kind]


def _condition(condition: Condition) -> models.Condition:
    match condition:
        case Among(ids):
            return models.HasIdCondition(has_id=list(ids))
        case Not(conditions):
            return models.Filter(must_not=[_all(conditions)])
        case Either(alternatives):
            return models.Filter(should=[_all(conditions) for conditions in alternatives])
        case AnyOf():
            return _any_of(condition)
    return _of_field(condition)


def _of_field(condition: Missing | Prefix | Within | Range) -> models.Condition:
    match condition:
        case Missing(key):
            return models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
        case Prefix(key, texts):
            return models.Filter(
                should=[models.FieldCondition(key=key, match=models.MatchPrefix(prefix=text)) for text in texts]
            )
        case Within(key, latitude, longitude, km):
            radius = models.GeoRadius(center=models.GeoPoint(lat=latitude, lon=longitude), radius=km * 1000)
            return models.FieldCondition(key=key, geo_radius=radius)
        case Range():
            return models.FieldCondition(key=condition.key, range=_bounds(condition))


def _any_of(condition: AnyOf) -> models.FieldCondition | models.Filter:
    if condition.type in ("keyword", "integer"):
        values: Any = list(condition.values)
        return models.FieldCondition(key=condition.key, match=models.MatchAny(any=values))
    return models.Filter(should=[_equals(condition, value) for value in condition.values])


def _all(conditions: Conditions) -> models.Filter:
    return models.Filter(must=[_condition(condition) for condition in conditions])


def _equals(condition: AnyOf, value: Scalar) -> models.FieldCondition:
    if condition.type == "text":
        return models.FieldCondition(key=condition.key, match=models.MatchText(text=str(value)))
    if isinstance(value, bool):
        return models.FieldCondition(key=condition.key, match=models.MatchValue(value=value))
    return models.FieldCondition(key=condition.key, range=_bounds(Range(condition.key, condition.type, value, value)))


def _bounds(bounds: Range) -> models.Range | models.DatetimeRange:
    given: Any = {"gte": bounds.gte, "lte": bounds.lte, "gt": bounds.gt, "lt": bounds.lt}
    return models.DatetimeRange(**given) if bounds.type == "datetime" else models.Range(**given)
