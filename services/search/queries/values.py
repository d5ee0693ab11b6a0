"""Values of fields: as tables store them, as callers, files and models write them, and the periods that dates name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from pydantic import JsonValue

from shared.contracts.search import FieldType
from shared.errors import InvalidRequest

Scalar: TypeAlias = "str | int | float | bool"
#: A latitude and a longitude, in degrees.
GeoPoint: TypeAlias = tuple[float, float]
Path: TypeAlias = "tuple[str | int, ...]"
_TRUTH: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
}
_TAKES: Mapping[str, str] = {
    "keyword": "text", "text": "text", "integer": "a whole number", "float": "a number", "bool": "true or false",
    "datetime": "a time, such as 2030-01-31T12:00:00Z", "geo": "a point: a latitude and a longitude",
}  # fmt: skip
_MAX_DIGITS = 40
_PERIOD = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?|(\d{2})(\d{2}))?")


def typed(name: str, value: JsonValue, kind: FieldType, path: Path = ()) -> Scalar:
    """Return the value as the field's type; ``path`` is where it is in the filters.

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
            return _time(name, moment, path)
        case (("keyword" | "text"), str() as text):
            return text
    raise misfit(name, f"takes {_TAKES[kind]}", path)


def point_of(value: JsonValue) -> GeoPoint | None:
    """Return a point as ``{"lat", "lon"}``, ``[lat, lon]``, ``"lat, lon"`` or GeoJSON; None for anything else."""
    if isinstance(value, str):
        parts = re.split(r"\s*[,;]\s*|\s+", value.strip())
        return _point(*map(number_of, parts)) if len(parts) == 2 else None
    if isinstance(value, list):
        return _point(*value) if len(value) == 2 else None
    if isinstance(value, dict):
        nested = value.get("coordinates")
        if isinstance(nested, list) and len(nested) in (2, 3):
            return _point(nested[1], nested[0])
        names = {key.lower(): each for key, each in value.items()}
        latitude = next((names[key] for key in ("lat", "latitude") if key in names), None)
        longitude = next((names[key] for key in ("lon", "lng", "long", "longitude") if key in names), None)
        return _point(latitude, longitude)
    return None


def _point(latitude: JsonValue, longitude: JsonValue) -> GeoPoint | None:
    degrees = [number_of(each) if isinstance(each, str) else each for each in (latitude, longitude)]
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in degrees):
        return None
    point = float(degrees[0]), float(degrees[1])  # type: ignore[arg-type]  # checked above
    return point if abs(point[0]) <= 90 and abs(point[1]) <= 180 else None


def geo_value(name: str, value: JsonValue) -> JsonValue:
    """Return one point or a list of them, as stored. Raises: InvalidRequest."""
    point = point_of(value)
    if point is not None:
        return {"lat": point[0], "lon": point[1]}
    if isinstance(value, list) and value and not any(isinstance(each, int | float) for each in value):
        return [geo_value(name, each) for each in value if each is not None]
    raise misfit(name, 'takes a point: [latitude, longitude] or {"lat": .., "lon": ..}, in degrees')


def period(name: str, value: JsonValue, path: Path = ()) -> tuple[str, str] | None:
    """Return the start of a day, month or year without a time, and the start of the next one; None for other values.

    Raises: InvalidRequest for a date that does not exist.
    """
    match = _PERIOD.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day = int(match[1]), match[2] or match[4], match[3] or match[5]
    try:
        first = date(year, int(month or 1), int(day or 1))
        if day:
            following = first + timedelta(days=1)
        elif month:
            following = date(year + int(month) // 12, int(month) % 12 + 1, 1)
        else:
            following = date(year + 1, 1, 1)
    except (ValueError, OverflowError):
        raise misfit(name, "takes a date or a time as in RFC 3339", path) from None
    return first.isoformat(), following.isoformat()


def meant(value: JsonValue, kind: FieldType) -> JsonValue:
    """Return what files and models mean by a value: a number or a truth value that is text, or text that is a
    number.
    """
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
    """Return a code that was taken for a number: pandas makes 4433.0 of it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


def number_of(text: str) -> int | float | None:
    """Parse a number whose meaning is certain; None for 1,299, which is ambiguous."""
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
    """Yield the notations of numbers, each with its thousands separator and its decimal sign."""
    for thousands, decimal in ((",", "."), (".", ","), *((blank, sign) for blank in " \u00a0\u202f'" for sign in ",.")):
        between, point = re.escape(thousands), re.escape(decimal)
        grouped = rf"[-+]?\d{{1,3}}(?:{between}\d{{3}})+"
        yield re.compile(rf"{grouped}{point}\d+|{grouped}{between}\d{{3}}"), thousands, decimal
        if thousands not in ",.":
            yield re.compile(grouped), thousands, decimal
        if decimal == ",":
            yield re.compile(r"[-+]?\d*,(?:\d{1,2}|\d{4,})"), thousands, decimal


_WRITTEN = tuple(_written())


def _time(name: str, text: str, path: Path) -> str:
    """RFC 3339 in UTC; a date means its start, a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise misfit(name, "takes a date or a time as in RFC 3339", path) from None
    try:
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        raise misfit(name, "takes a time within the years 1 to 9999", path) from None


def misfit(name: str, why: str, path: Path = ()) -> InvalidRequest:
    """Return the error of a field whose value or filter does not fit it."""
    detail = f"the field {name[:100]!r} {why}"
    loc: list[str | int] = ["filters", *(path or (name[:100],))]
    return InvalidRequest(detail, [(loc, detail)])
