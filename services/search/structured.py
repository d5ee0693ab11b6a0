"""JSON out of a model's reply: fences and prose around it are forgiven, anything else is not."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

Shape = TypeVar("Shape", bound=BaseModel)
_LONGEST = 200_000


def parse(text: str, shape: type[Shape]) -> Shape | None:
    """The first JSON object in the text that fits the shape; None when there is none."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    text = text[:_LONGEST]
    start = text.find("{")
    for _ in range(20):
        if start < 0:
            return None
        try:
            value, _end = decoder.raw_decode(text, start)
            return shape.model_validate(value)
        except (ValueError, ValidationError, RecursionError):
            start = text.find("{", start + 1)
    return None


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
