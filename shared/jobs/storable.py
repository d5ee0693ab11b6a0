"""What Postgres can keep and give back: no NUL, no lone surrogates, no infinite numbers, events within their size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

EVENT_BYTES = 16_000  #: no event is larger, its envelope included
_ENVELOPE = 400
_SHORTEST = 64
_CUT = " …"


def storable(value: JsonValue) -> JsonValue:
    """The value with what ``jsonb`` refuses made visible: NUL as U+2400, lone surrogates as U+FFFD, NaN as null.

    An integer of more than 64 bits becomes text: as a number no reader would get it back as it was.
    """
    if isinstance(value, str):
        return value.replace("\x00", "\u2400").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(storable(key)): storable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def event_data(data: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The data of an event, its longest strings cut until the event fits into 16 kB."""
    fitting = cast("Mapping[str, JsonValue]", storable(dict(data)))
    longest = EVENT_BYTES
    while len(json.dumps(fitting, ensure_ascii=False).encode()) > EVENT_BYTES - _ENVELOPE:
        longest //= 2
        if longest < _SHORTEST:  # it is not the strings: too many of them
            return {"truncated": True}
        fitting = cast("Mapping[str, JsonValue]", _cut(dict(fitting), longest))
    return fitting


def _cut(value: JsonValue, longest: int) -> JsonValue:
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - len(_CUT)] + _CUT
    if isinstance(value, dict):
        return {key: _cut(inner, longest) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, longest) for inner in value]
    return value
