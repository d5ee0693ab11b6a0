"""Repairs of JSON by a library that has no limit: runs in a bounded process."""

from __future__ import annotations

from json_repair import repair_json
from pydantic import JsonValue


def repair(body: JsonValue) -> JsonValue:
    """Return the object or the list that a broken text means; nothing of it is an empty text."""
    assert isinstance(body, str)
    try:
        value: JsonValue = repair_json(body, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        return ""
    return value
