"""What models answer: asked for by schema, read leniently, since one bad entry should not spoil a good plan."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue


def _text(value: object) -> object:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> object:
    """A number as a whole one; what is none at all as no wish."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(max(min(value, 10**9), -(10**9)))


def _share(value: object) -> object:
    """A number between 0 and 1; anything else as no wish."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    return float(value)


def _object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> object:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _mode(value: object) -> object:
    return value if value == "faceted" else "master"


def _strategy(value: object) -> object:
    return value if value in ("relax", "rewrite", "pivot") else "relax"


Text = Annotated[str, BeforeValidator(_text)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class ReplannedQuery(_Reply):
    """A query of a reflection: the search as the model wants it next."""

    table: Text = ""
    search_mode: Annotated[Literal["faceted", "master"], BeforeValidator(_mode)] = "master"
    query_text: Text = ""
    limit: Annotated[int | None, BeforeValidator(_whole)] = None


class ProposedQuery(ReplannedQuery):
    """A query of a first plan, which may also filter."""

    score_threshold: Annotated[float | None, BeforeValidator(_share)] = None
    filters: Annotated[dict[str, JsonValue], BeforeValidator(_object)] = {}


class PlanReply(_Reply):
    queries: Annotated[list[ProposedQuery], BeforeValidator(_objects)]


class ReflectReply(_Reply):
    """The reflection contract: what is missing has a default, and without new queries the plan stays as it is."""

    reasoning: Text = ""
    strategy: Annotated[Literal["relax", "rewrite", "pivot"], BeforeValidator(_strategy)] = "relax"
    user_message: Text = ""
    new_queries: Annotated[list[ReplannedQuery], BeforeValidator(_objects)] = []


class CitedRecord(_Reply):
    table: Text = ""
    id: Text = ""


class AnswerReply(_Reply):
    answer: str
    citations: Annotated[list[CitedRecord], BeforeValidator(_objects)] = []
