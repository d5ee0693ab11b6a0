"""Conditions and field types in the form of Qdrant's client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qdrant_client import models

from services.search.queries.filters import Among, AnyOf, Condition, Conditions, Range, Scalar
from services.search.store.port import LENGTH
from shared.contracts.search import FieldType

_SCHEMAS: Mapping[FieldType, models.PayloadSchemaType] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "bool": models.PayloadSchemaType.BOOL,
    "datetime": models.PayloadSchemaType.DATETIME,
}


def translate(conditions: Conditions) -> models.Filter | None:
    """All of the conditions together; None when there are none."""
    return models.Filter(must=[_condition(condition) for condition in conditions]) if conditions else None


def indexes(fields: Mapping[str, FieldType]) -> Iterator[tuple[str, Any]]:
    """Every payload key to index, and how."""
    for key in ("record", "facet"):
        yield key, models.PayloadSchemaType.KEYWORD
    yield LENGTH, models.PayloadSchemaType.INTEGER
    for name, kind in fields.items():
        if kind == "text":
            text = models.TextIndexParams(
                type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WORD, lowercase=True
            )
            yield f"fields.{name}", text
        else:
            yield f"fields.{name}", _SCHEMAS[kind]


def _condition(condition: Condition) -> models.FieldCondition | models.HasIdCondition | models.Filter:
    if isinstance(condition, Among):
        return models.HasIdCondition(has_id=list(condition.ids))
    if isinstance(condition, Range):
        return models.FieldCondition(key=condition.key, range=_bounds(condition))
    if condition.type in ("keyword", "integer"):
        values: Any = list(condition.values)
        return models.FieldCondition(key=condition.key, match=models.MatchAny(any=values))
    return models.Filter(should=[_equals(condition, value) for value in condition.values])


def _equals(condition: AnyOf, value: Scalar) -> models.FieldCondition:
    if condition.type == "text":
        return models.FieldCondition(key=condition.key, match=models.MatchText(text=str(value)))
    if isinstance(value, bool):
        return models.FieldCondition(key=condition.key, match=models.MatchValue(value=value))
    return models.FieldCondition(key=condition.key, range=_bounds(Range(condition.key, condition.type, value, value)))


def _bounds(bounds: Range) -> models.Range | models.DatetimeRange:
    given: Any = {"gte": bounds.gte, "lte": bounds.lte, "gt": bounds.gt, "lt": bounds.lt}
    return models.DatetimeRange(**given) if bounds.type == "datetime" else models.Range(**given)
