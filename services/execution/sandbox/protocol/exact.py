"""Values in JSON without loss: what JSON has no word for is ``{"$": kind, "v": ...}``, in every language's kernel."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from services.execution.sandbox.protocol.wire import Json

MAX_ITEMS, MAX_CHARACTERS, _DEEPEST = 200_000, 4_000_000, 60
SAFE = 2**53 - 1  #: larger whole numbers are not exact in JavaScript
_LONGEST_WHOLE = 12_000  #: bits
TAG = "$"


class NotPlain(Exception):
    """Has no such form, or is too large for it; the text says which."""


def tagged(kind: str, value: Json, **more: Json) -> Json:
    return {TAG: kind, "v": value, **more}


class Encoder:
    """One value; what it may take is bounded."""

    def __init__(self, items: int = MAX_ITEMS, characters: int = MAX_CHARACTERS) -> None:
        self._items = items
        self._characters = characters
        self._depth = 0

    def encode(self, value: Any) -> Json:
        """Encode a value. Raises: NotPlain."""
        self._items -= 1
        self._depth += 1
        if self._items < 0 or self._characters < 0:
            raise NotPlain("it is too large")
        if self._depth > _DEEPEST:
            raise NotPlain("it is nested too deep, or holds itself")
        try:
            return self._encode(value)
        finally:
            self._depth -= 1

    def _encode(self, value: Any) -> Json:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._counted(str(value))
        if isinstance(value, int):
            return self._whole(int(value))
        if isinstance(value, float):
            return real(float(value))
        if isinstance(value, dict):
            return self._map(value)
        if isinstance(value, list):
            return [self.encode(inner) for inner in value]
        if isinstance(value, (tuple, set, frozenset)):
            kind = "tuple" if isinstance(value, tuple) else "set"
            return tagged(kind, [self.encode(inner) for inner in value])
        return self._scalar(value)

    def _scalar(self, value: Any) -> Json:
        for kinds, name, text in _AS_TEXT:
            if isinstance(value, kinds):
                if value != value:  # noqa: PLR0124 - NaT
                    return tagged("missing", None)
                return tagged(name, self._counted(text(value)), **_zone(value))
        if isinstance(value, datetime.timedelta):
            return tagged("missing", None) if value != value else tagged("duration", microseconds(value))  # noqa: PLR0124
        if isinstance(value, (bytes, bytearray, memoryview)):
            self._check_size(memoryview(value).nbytes, self._characters)
            return tagged("bytes", self._counted(base64.b64encode(value).decode()))
        if isinstance(value, complex):
            return tagged("complex", [real(value.real), real(value.imag)])
        return self._of_a_library(value)

    def _check_size(self, wanted: int, left: int) -> None:
        """Check the size before a value is converted to another form."""
        if wanted > left:
            raise NotPlain("it is too large")

    def _counted(self, text: str) -> str:
        self._characters -= len(text)
        if self._characters < 0:
            raise NotPlain("it is too large")
        return text

    def _whole(self, value: int) -> Json:
        if -SAFE <= value <= SAFE:
            return value
        if value.bit_length() > _LONGEST_WHOLE:
            raise NotPlain("it is too large")
        return tagged("int", self._counted(str(value)))

    def _map(self, value: Mapping[object, object]) -> Json:
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {self._counted(str(key)): self.encode(inner) for key, inner in value.items()}
        return tagged("map", [[self.encode(key), self.encode(inner)] for key, inner in value.items()])

    def _of_a_library(self, value: Any) -> Json:
        """Arrays, series and scalars of numpy, pandas and polars."""
        kind = type(value)
        module = kind.__module__.partition(".")[0]
        if module == "pandas" and kind.__name__ in ("NAType", "NaTType"):
            return tagged("missing", None)
        if module in ("numpy", "pandas", "polars", "pyarrow"):
            self._check_size(_size(value), self._items)
        if module == "pandas" and str(getattr(value, "dtype", "")) == "category":
            return self._factor(value if kind.__name__ == "Categorical" else value.array)
        if module == "numpy" and kind.__name__ == "ndarray" and value.dtype.kind in "biufU" and value.size:
            return tagged("array", self.encode(value.tolist()), dtype=str(value.dtype))
        for method in ("tolist", "to_list", "to_pylist", "item", "as_py"):
            if module in ("numpy", "pandas", "polars", "pyarrow") and hasattr(value, method):
                made = getattr(value, method)()
                if type(made) is not kind:
                    listed = isinstance(made, list)
                    return tagged("series", self.encode(made), type=kind.__name__) if listed else self.encode(made)
        raise NotPlain("it has no form outside of its language")

    def _factor(self, value: Any) -> Json:
        levels = self.encode(value.categories.tolist())
        return tagged("factor", self.encode(value.codes.tolist()), levels=levels, ordered=bool(value.ordered))


def _size(value: Any) -> int:
    size = getattr(value, "size", None)
    return size if isinstance(size, int) else len(value) if hasattr(value, "__len__") else 1


def real(value: float) -> Json:
    return value if math.isfinite(value) else tagged("float", repr(value))


def microseconds(value: datetime.timedelta) -> int:
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds


def _zone(value: object) -> dict[str, Json]:
    """Return the name of its zone, if it has one: an offset alone does not determine daylight saving time."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return {}
    key = getattr(value.tzinfo, "key", None) or ("UTC" if value.tzinfo is datetime.UTC else None)
    return {"zone": str(key)} if key else {}


_AS_TEXT: tuple[tuple[tuple[type, ...], str, Callable[[Any], str]], ...] = (
    ((decimal.Decimal,), "decimal", str),
    ((datetime.datetime,), "datetime", lambda value: value.isoformat()),
    ((datetime.date,), "date", lambda value: value.isoformat()),
    ((datetime.time,), "time", lambda value: value.isoformat()),
    ((uuid.UUID,), "uuid", str),
)


def decode(value: Json) -> Any:
    """Return the encoded value, or this language's equivalent. Raises: ValueError, TypeError, KeyError."""
    if isinstance(value, Mapping):
        if TAG not in value:
            return {key: decode(inner) for key, inner in value.items()}
        return _tagged(str(value[TAG]), value["v"], value)
    return [decode(inner) for inner in value] if isinstance(value, list) else value


def _tagged(kind: str, value: Any, whole: Mapping[str, Json]) -> Any:
    if kind == "map":
        return {_hashable(decode(key)): decode(inner) for key, inner in value}
    if kind in ("array", "factor"):
        return _library(kind, value, whole)
    if kind == "datetime":
        return _datetime(str(value), whole.get("zone"))
    return _PLAIN[kind](value)


def _hashable(key: Any) -> Any:
    return tuple(_hashable(part) for part in key) if isinstance(key, list) else key


def _set(parts: Any) -> Any:
    try:
        return {decode(part) for part in parts}
    except TypeError:
        return [decode(part) for part in parts]


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "missing": lambda _value: None,
    "undefined": lambda _value: None,
    "int": int,
    "float": float,
    "decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "duration": lambda value: datetime.timedelta(microseconds=value),
    "bytes": base64.b64decode,
    "complex": lambda value: complex(decode(value[0]), decode(value[1])),
    "uuid": uuid.UUID,
    "tuple": lambda value: tuple(decode(part) for part in value),
    "set": _set,
    "series": decode,
}


def _datetime(text: str, zone: Json) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    pandas: Any = sys.modules.get("pandas")
    if len(text.partition(".")[2].partition("+")[0].rstrip("Z")) > 6 and pandas is not None:
        moment = pandas.Timestamp(text)  # nanoseconds
    if zone == "UTC":
        return moment.astimezone(datetime.UTC)
    if isinstance(zone, str) and moment.tzinfo is not None:
        import zoneinfo

        try:
            return moment.astimezone(zoneinfo.ZoneInfo(zone))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return moment
    return moment


def _library(kind: str, value: Any, whole: Mapping[str, Json]) -> Any:
    if kind == "array":
        import numpy

        return numpy.array(decode(value), dtype=str(whole["dtype"]))
    import pandas

    levels = decode(whole["levels"])
    return pandas.Categorical.from_codes(value, levels, ordered=bool(whole.get("ordered")))
