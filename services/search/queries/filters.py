"""Filters as the caller wrote them, checked against the table's fields and parsed into conditions for every store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from pydantic import JsonValue

from shared.contracts.search import FieldType, Filters
from shared.errors import InvalidRequest, UnknownField

Scalar: TypeAlias = "str | int | float | bool"
_BOUNDS = ("gte", "lte", "gt", "lt")
_MOST_VALUES = 1000


@dataclass(frozen=True)
class AnyOf:
    """The field holds one of the values (a field that is a list: one of its elements)."""

    key: str
    type: FieldType
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Range:
    """The field lies within the given bounds."""

    key: str
    type: FieldType
    gte: Scalar | None = None
    lte: Scalar | None = None
    gt: Scalar | None = None
    lt: Scalar | None = None


@dataclass(frozen=True)
class Among:
    """The point has one of these ids."""

    ids: tuple[str, ...]


Condition = AnyOf | Range | Among
Conditions = tuple[Condition, ...]


def conditions(filters: Filters, fields: Mapping[str, FieldType], table: str) -> Conditions:
    """The conditions of a table's filters.

    Raises: UnknownField; InvalidRequest when a value does not fit the field's type.
    """
    return tuple(_condition(name, value, fields, table) for name, value in filters.items())


def _condition(name: str, value: JsonValue, fields: Mapping[str, FieldType], table: str) -> Condition:
    if name not in fields:
        known = ", ".join(sorted(fields)) or "none"
        raise UnknownField(f"the table {table!r} has no field {name[:100]!r} to filter on; it has: {known}")
    kind = fields[name]
    key = f"fields.{name}"
    if isinstance(value, dict):
        return _range(name, key, value, kind)
    values = value if isinstance(value, list) else [value]
    if not 1 <= len(values) <= _MOST_VALUES:
        raise _misfit(name, f"takes 1 to {_MOST_VALUES} values")
    return AnyOf(key, kind, tuple(typed(name, each, kind) for each in values))


def _range(name: str, key: str, bounds: Mapping[str, JsonValue], kind: FieldType) -> Range:
    if kind not in ("integer", "float", "datetime"):
        raise _misfit(name, f"is a {kind}, which has no order; give a value or a list of values")
    unknown = [bound for bound in bounds if bound not in _BOUNDS]
    if unknown or not bounds:
        raise _misfit(name, "takes a range with the bounds gte, lte, gt and lt")
    # A bound of an integer may lie between two integers.
    bound_kind: FieldType = "float" if kind == "integer" else kind
    return Range(key, kind, **{bound: typed(name, value, bound_kind) for bound, value in bounds.items()})


def typed(name: str, value: JsonValue, kind: FieldType) -> Scalar:
    """The value as the field's type.

    Raises: InvalidRequest.
    """
    match kind, value:
        case "bool", bool():
            return value
        case "integer", int() if not isinstance(value, bool) and abs(value) < 2**63:
            return value
        case "integer", float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case "float", int() | float() if not isinstance(value, bool) and abs(value) < 1e308:
            return float(value)
        case "datetime", str():
            return _time(name, value)
        case (("keyword" | "text"), str()):
            return value
    raise _misfit(name, f"takes a value that is {_article(kind)}")


def _time(name: str, text: str) -> str:
    """RFC 3339 in UTC; a date means its start, a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise _misfit(name, "takes a date or a time as in RFC 3339") from None
    try:
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        raise _misfit(name, "takes a time within the years 1 to 9999") from None


def _article(kind: FieldType) -> str:
    return f"an {kind}" if kind == "integer" else f"a {kind}"


def _misfit(name: str, why: str) -> InvalidRequest:
    detail = f"the field {name[:100]!r} {why}"
    return InvalidRequest(detail, [(["filters", name[:100]], detail)])
