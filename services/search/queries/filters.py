"""Filters as the caller wrote them, checked against the table's fields and parsed into conditions for every store.

A filter is an object of fields, all of which must hold. Of a field: a value, a list of values (any of them), null (no
value), or an object of operators (all of them): ``gte``, ``lte``, ``gt``, ``lt``, ``not``, ``prefix``, and
``within_km`` with ``of``. ``or`` and ``and`` take a list of filters, ``not`` takes one, unless the table has a field of
that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from services.search.number_words import spoken_numbers
from services.search.queries.values import Path, Scalar, meant, misfit, period, point_of, typed
from shared.contracts.search import FieldType, Filters
from shared.errors import InvalidRequest, UnknownField

_BOUNDS = ("gte", "lte", "gt", "lt")
_DISTANCE = ("within_km", "of")
_OPERATORS = (*_BOUNDS, "not", "prefix", *_DISTANCE)
_COMBINED = ("or", "and", "not")
#: What a text means where a number or a date is expected.
_COMPARISONS = {">": "gt", ">=": "gte", "\u2265": "gte", "<": "lt", "<=": "lte", "\u2264": "lte", "!=": "not"}
_COMPARISON = re.compile(r"\s*(>=|<=|!=|[<>\u2264\u2265])\s*(\S.*)")
_NUMBER_SPAN = re.compile(r"\s*(-?\d[\d.,]*)\s*(?:-|\.\.|\u2013|\u2014|\s(?:to|bis|and|a|à)\s)\s*(-?\d[\d.,]*)\s*")
_DATE = r"(\d{4}(?:-\d\d(?:-\d\d)?)?)"
_DATE_SPAN = re.compile(
    rf"\s*{_DATE}\s*(?:\s-\s|\.\.|/|\u2013|\u2014|\s(?:to|bis|and|a|à)\s)\s*{_DATE}\s*|\s*(\d{{4}})-(\d{{4}})\s*"
)
#: Operators of other systems, and how they are written here.
_ELSEWHERE = {
    **dict.fromkeys(("ne", "neq", "$ne", "!=", "nin", "$nin", "not_in", "must_not", "except", "$not"), '"not": VALUE'),
    **dict.fromkeys(("eq", "$eq", "==", "is", "equals", "in", "$in", "any", "match"), "the value or a list of values"),
    **dict.fromkeys(("between", "range", "$between"), '"gte": FROM, "lte": TO'),
    **dict.fromkeys(("$gt", ">", "after"), '"gt": VALUE'),
    **dict.fromkeys(("$gte", ">=", "from", "min", "since"), '"gte": VALUE'),
    **dict.fromkeys(("$lt", "<", "before"), '"lt": VALUE'),
    **dict.fromkeys(("$lte", "<=", "to", "max", "until"), '"lte": VALUE'),
    **dict.fromkeys(("exists", "$exists", "is_null", "null", "missing"), 'null, or "not": null'),
    **dict.fromkeys(("starts_with", "startswith", "startsWith", "like"), '"prefix": TEXT'),
    **dict.fromkeys(("near", "km", "geo_radius", "distance", "radius"), '"within_km": KM, "of": [LATITUDE, LONGITUDE]'),
}
_MAX_VALUES = 1000
_MAX_COMBINED = 100
_MAX_DEPTH = 8
_FARTHEST_KM = 20_040  #: half of the equator


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
class Prefix:
    """The field begins with one of the texts."""

    key: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Within:
    """The field is a point at most that far from another."""

    key: str
    latitude: float
    longitude: float
    km: float


@dataclass(frozen=True)
class Missing:
    """The field has no value."""

    key: str


@dataclass(frozen=True)
class Among:
    """The point has one of these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class Not:
    """The conditions do not all hold."""

    conditions: Conditions


@dataclass(frozen=True)
class Either:
    """All conditions of one of the alternatives hold."""

    alternatives: tuple[Conditions, ...]


Condition = AnyOf | Range | Prefix | Within | Missing | Among | Not | Either
Conditions = tuple[Condition, ...]


def conditions(filters: Filters, fields: Mapping[str, FieldType], table: str) -> Conditions:
    """Return the conditions of a table's filters.

    Raises: UnknownField; InvalidRequest when a value does not fit the field's type.
    """
    return _Parser(fields, table).all_of(filters, ())


def names(filters: Filters, fields: Mapping[str, FieldType]) -> Iterator[str]:
    """Yield the fields that the filters are about, in a table that has ``fields``."""
    for name, value in filters.items():
        if name not in fields and name in _COMBINED:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    yield from names(each, fields)
        else:
            yield name


def as_meant(filters: Filters, fields: Mapping[str, FieldType]) -> Filters:
    """Return the filters with what a model means: values as the fields' types, operators of other systems as ours."""
    return {
        name: _combined_as_meant(value, fields)
        if name not in fields and name in _COMBINED
        else _field_as_meant(value, fields[name])
        if name in fields
        else value
        for name, value in filters.items()
    }


def _combined_as_meant(value: JsonValue, fields: Mapping[str, FieldType]) -> JsonValue:
    if isinstance(value, list):
        return [as_meant(each, fields) if isinstance(each, dict) else each for each in value]
    return as_meant(value, fields) if isinstance(value, dict) else value


def _field_as_meant(value: JsonValue, kind: FieldType) -> JsonValue:
    if kind == "geo":
        return value
    if not isinstance(value, dict):
        return _compared(value, kind)
    if len(value) == 1:
        [(operator, operand)] = value.items()
        match _ELSEWHERE.get(operator):
            case "the value or a list of values":
                return meant(operand, kind)
            case '"gte": FROM, "lte": TO' if isinstance(operand, list) and len(operand) == 2:
                return {"gte": meant(operand[0], kind), "lte": meant(operand[1], kind)}
            case 'null, or "not": null' if isinstance(operand, bool):
                has_value = operand == (operator in ("exists", "$exists"))
                return {"not": None} if has_value else None
    return _renamed(value, kind)


def _renamed(value: Mapping[str, JsonValue], kind: FieldType) -> JsonValue:
    """Return the operators as they are written here; unchanged where two of them are the same."""
    renamed = {_ours(operator): operand for operator, operand in value.items()}
    if len(renamed) < len(value):
        return dict(value)
    return {
        operator: _field_as_meant(operand, kind) if operator == "not" else meant(operand, kind)
        for operator, operand in renamed.items()
    }


def _compared(value: JsonValue, kind: FieldType) -> JsonValue:
    """Return what a plain value means; of numbers and dates also a comparison or a span in a text, such as >8."""
    if not isinstance(value, str) or kind not in ("integer", "float", "datetime"):
        return meant(value, kind)
    if comparison := _COMPARISON.fullmatch(value):
        return {_COMPARISONS[comparison[1]]: meant(comparison[2], kind)}
    if span := (_DATE_SPAN if kind == "datetime" else _NUMBER_SPAN).fullmatch(value):
        begin, end = filter(None, span.groups())
        return {"gte": meant(begin, kind), "lte": meant(end, kind)}
    words = spoken_numbers(value) if kind != "datetime" else []
    if len(words) == 1 and value[words[0].start : words[0].end] == value.strip():
        return meant(f"{words[0].value:f}", kind)
    return meant(value, kind)


def _ours(operator: str) -> str:
    written = _ELSEWHERE.get(operator, "")
    return written.split('"')[1] if written.startswith('"') and written.count('"') == 2 else operator


@dataclass(frozen=True)
class _Parser:
    """The fields of one table; ``path`` is where a part is in the filters."""

    fields: Mapping[str, FieldType]
    table: str

    def all_of(self, filters: Filters, path: Path) -> Conditions:
        return tuple(condition for name, value in filters.items() for condition in self._named(name, value, path))

    def _named(self, name: str, value: JsonValue, path: Path) -> Conditions:
        path = (*path, name[:100])
        if name in self.fields:
            return self._field(name, value, path)
        if name in _COMBINED:
            return self._combined(name, value, path)
        known = ", ".join(sorted(self.fields)) or "none"
        raise UnknownField(f"the table {self.table!r} has no field {name[:100]!r} to filter on; it has: {known}")

    def _combined(self, name: str, value: JsonValue, path: Path) -> Conditions:
        if len(path) > _MAX_DEPTH * 2:
            raise _refused(path, f"filters are nested more than {_MAX_DEPTH} times")
        if name == "not":
            if not isinstance(value, dict) or not value:
                raise _refused(path, '"not" takes an object of filters, such as {"not": {"FIELD": VALUE}}')
            return (Not(self.all_of(value, path)),)
        if not isinstance(value, list) or not 1 <= len(value) <= _MAX_COMBINED:
            raise _refused(path, f'"{name}" takes a list of 1 to {_MAX_COMBINED} filters')
        alternatives = []
        for index, each in enumerate(value):
            if not isinstance(each, dict) or not each:
                raise _refused((*path, index), f'each of "{name}" is an object of filters, such as {{"FIELD": VALUE}}')
            alternatives.append(self.all_of(each, (*path, index)))
        if name == "or":
            return (Either(tuple(alternatives)),)
        return tuple(condition for parts in alternatives for condition in parts)

    def _field(self, name: str, value: JsonValue, path: Path) -> Conditions:
        kind = self.fields[name]
        if value is None:
            return (Missing(_key(name)),)
        if isinstance(value, dict):
            return self._operators(name, value, path)
        if kind == "geo":
            raise misfit(name, 'is a point; write {"within_km": KM, "of": [LATITUDE, LONGITUDE]}', path)
        return self._values(name, value if isinstance(value, list) else [value], path)

    def _values(self, name: str, values: list[JsonValue], path: Path) -> Conditions:
        kind = self.fields[name]
        if not 1 <= len(values) <= _MAX_VALUES:
            raise misfit(name, f"takes 1 to {_MAX_VALUES} values", path)
        present = [value for value in values if value is not None]
        alternatives: list[Condition] = [Missing(_key(name))] if len(present) < len(values) else []
        if kind == "datetime":
            periods = [value for value in present if period(name, value, path)]
            alternatives += [part for day in periods for part in self._range(name, {"gte": day, "lte": day}, path)]
            present = [value for value in present if value not in periods]
        if present:
            alternatives.append(AnyOf(_key(name), kind, tuple(typed(name, each, kind, path) for each in present)))
        return (alternatives[0],) if len(alternatives) == 1 else (Either(tuple((each,) for each in alternatives)),)

    def _operators(self, name: str, operators: Mapping[str, JsonValue], path: Path) -> Conditions:
        for operator in operators:
            if operator not in _OPERATORS:
                raise _unknown_operator(name, operator, (*path, operator[:100]))
        if not operators:
            raise misfit(name, f"takes a value, a list, null, or an object of {', '.join(_OPERATORS)}", path)
        bounds = {operator: value for operator, value in operators.items() if operator in _BOUNDS}
        parts = self._range(name, bounds, path) if bounds else ()
        if "prefix" in operators:
            parts += (self._prefix(name, operators["prefix"], (*path, "prefix")),)
        if any(operator in operators for operator in _DISTANCE):
            parts += (self._within(name, operators.get("within_km"), operators.get("of"), path),)
        if "not" in operators:
            parts += (Not(self._field(name, operators["not"], (*path, "not"))),)
        return parts

    def _range(self, name: str, bounds: Mapping[str, JsonValue], path: Path) -> Conditions:
        kind = self.fields[name]
        if kind not in ("integer", "float", "datetime"):
            raise misfit(name, f"is a {kind}, which has no order; give a value or a list of values", path)
        # A bound of an integer may lie between two integers.
        bound_kind: FieldType = "float" if kind == "integer" else kind
        parts = [Range(_key(name), kind)]
        for bound, value in bounds.items():
            own = (*path, bound)
            days = period(name, value, own) if kind == "datetime" else None
            if days is not None:  # up to a day is before the next one, after it is from the next one on
                whole = bound in ("lte", "gt")
                bound, value = {"lte": "lt", "gt": "gte"}.get(bound, bound), days[whole]  # noqa: PLW2901
            limit = typed(name, value, bound_kind, own)
            if getattr(parts[-1], bound) is not None:
                parts.append(Range(_key(name), kind))
            bounded: dict[str, Any] = {bound: limit}
            parts[-1] = replace(parts[-1], **bounded)
        return tuple(parts)

    def _prefix(self, name: str, value: JsonValue, path: Path) -> Condition:
        kind = self.fields[name]
        if kind != "keyword":
            raise misfit(name, f"is {_with_article(kind)}; only a keyword has a prefix", path)
        texts = value if isinstance(value, list) else [value]
        chosen = tuple(text for text in texts if isinstance(text, str) and text)
        if not chosen or len(chosen) < len(texts) or len(chosen) > _MAX_VALUES:
            raise misfit(name, f'takes "prefix" as a text, or a list of 1 to {_MAX_VALUES} texts', path)
        return Prefix(_key(name), chosen)

    def _within(self, name: str, km: JsonValue, of: JsonValue, path: Path) -> Condition:
        kind = self.fields[name]
        if kind != "geo":
            raise misfit(name, f"is {_with_article(kind)}; only a field of the type geo has a distance", path)
        point = point_of(of)
        if point is None:
            raise misfit(name, 'takes "of" as [LATITUDE, LONGITUDE], in degrees', (*path, "of"))
        if isinstance(km, bool) or not isinstance(km, int | float) or not 0 < km <= _FARTHEST_KM:
            raise misfit(name, f'takes "within_km" as a number above 0 and up to {_FARTHEST_KM}', (*path, "within_km"))
        return Within(_key(name), *point, float(km))


def _key(name: str) -> str:
    return f"fields.{name}"


def _with_article(kind: FieldType) -> str:
    return f"an {kind}" if kind == "integer" else f"a {kind}"


def _unknown_operator(name: str, operator: str, path: Path) -> InvalidRequest:
    instead = _ELSEWHERE.get(operator)
    hint = f"write {instead}" if instead else f"use {', '.join(_OPERATORS)}"
    return misfit(name, f"has no operator {operator[:100]!r}; {hint}", path)


def _refused(path: Path, why: str) -> InvalidRequest:
    return InvalidRequest(f"filters: {why}", [(["filters", *path], why)])
