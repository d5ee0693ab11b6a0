"""Filters as the caller wrote them, checked against the table's fields and parsed into conditions for every store."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from pydantic import JsonValue

from shared.contracts.search import FieldType, Filters
from shared.errors import InvalidRequest, UnknownField

Scalar: TypeAlias = "str | int | float | bool"
_BOUNDS = ("gte", "lte", "gt", "lt")
_TRUTH: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
}
_MOST_VALUES = 1000
_MAX_DIGITS = 40


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
    if kind == "datetime" and len(values) == 1 and _is_day(values[0]):
        return _range(name, key, {"gte": values[0], "lte": values[0]}, kind)
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
    named = bounds if kind != "datetime" else _whole_days(name, bounds)
    return Range(key, kind, **{bound: typed(name, value, bound_kind) for bound, value in named.items()})


def _whole_days(name: str, bounds: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Bounds where a day without a time means all of it: up to it is before the next one, after it from the next on."""
    meant: dict[str, JsonValue] = {}
    for bound, value in bounds.items():
        if bound in ("lte", "gt") and _is_day(value):
            meant["lt" if bound == "lte" else "gte"] = _next_day(name, str(value))
        else:
            meant.setdefault(bound, value)
    return meant


def _is_day(value: JsonValue) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", value.strip()) is not None


def _next_day(name: str, text: str) -> str:
    try:
        return (date.fromisoformat(text.strip()) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        raise _misfit(name, "takes a date or a time as in RFC 3339") from None


def typed(name: str, value: JsonValue, kind: FieldType) -> Scalar:
    """The value as the field's type.

    Raises: InvalidRequest.
    """
    match kind, value:
        case "bool", bool() as truth:
            return truth
        case "integer", int() as whole if not isinstance(whole, bool) and abs(whole) < 2**63:
            return whole
        case "integer", float() as number if number.is_integer() and abs(number) < 2**53:
            return int(number)
        case "float", int() | float() as number if not isinstance(number, bool) and abs(number) < 1e308:
            return float(number)
        case "datetime", str() as moment:
            return _time(name, moment)
        case (("keyword" | "text"), str() as text):
            return text
    raise _misfit(name, f"takes a value that is {_article(kind)}")


def meant(value: JsonValue, kind: FieldType) -> JsonValue:
    """What files and models mean by a value: a number or a truth value that is text, or text that is a number."""
    if isinstance(value, dict):
        return {bound: meant(each, kind) for bound, each in value.items()}
    if isinstance(value, list):
        return [meant(each, kind) for each in value]
    if kind in ("keyword", "text"):
        return _as_text(value)
    if kind == "bool" and not isinstance(value, bool):
        return _TRUTH.get(str(value).strip().lower(), value)
    if kind in ("integer", "float") and isinstance(value, str):
        number = number_of(value)
        return value if number is None else number
    return value


def _as_text(value: JsonValue) -> JsonValue:
    """A code that was taken for a number: pandas makes 4433.0 of it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


def number_of(text: str) -> int | float | None:
    """A number whose meaning is certain; None for 1,299, which may be either."""
    plain = text.strip().replace("\u2212", "-")
    if re.fullmatch(r"[-+]?\d+", plain):
        return int(plain) if len(plain) < _MAX_DIGITS else None
    for shape, thousands, decimal in _WRITTEN:
        if shape.fullmatch(plain):
            return float(plain.replace(thousands, "").replace(decimal, "."))
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in plain else None


def _written() -> Iterator[tuple[re.Pattern[str], str, str]]:
    """How numbers are written, with what stands between thousands and before decimals."""
    for thousands, decimal in ((",", "."), (".", ","), *((blank, sign) for blank in " \u00a0\u202f'" for sign in ",.")):
        between, point = re.escape(thousands), re.escape(decimal)
        grouped = rf"[-+]?\d{{1,3}}(?:{between}\d{{3}})+"
        yield re.compile(rf"{grouped}{point}\d+|{grouped}{between}\d{{3}}"), thousands, decimal
        if thousands not in ",.":
            yield re.compile(grouped), thousands, decimal
        if decimal == ",":
            yield re.compile(r"[-+]?\d*,(?:\d{1,2}|\d{4,})"), thousands, decimal


_WRITTEN = tuple(_written())


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
