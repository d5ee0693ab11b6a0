"""The attempts of searches, and the rewrites that worked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Column, DateTime, ForeignKey, Integer, Select, Table, Text, literal, select, text
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert

import shared.jobs.tables  # noqa: F401 - the attempts refer to jobs
from shared.collections import collections
from shared.db import metadata

_NOW = text("clock_timestamp()")
_MOST_REWRITES = 200

search_attempts = Table(
    "search_attempts",
    metadata,
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("collection_id", Text, nullable=False, index=True),
    Column("strategy", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("user_message", Text, nullable=False),
    Column("queries", JSONB, nullable=False),  # each with its threshold, filters, hits, error and milliseconds
    Column("gain", Integer, nullable=False),  # records that no earlier attempt had found
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

search_rewrites = Table(
    "search_rewrites",
    metadata,
    Column("collection_id", Text, ForeignKey("collections.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),  # of the table
    Column("wording_sha256", Text, primary_key=True),
    Column("wording", Text, nullable=False),
    Column("rewritten", Text, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)


def save_attempts(rows: Sequence[Mapping[str, JsonValue]]) -> Insert:
    return insert(search_attempts).values(list(rows)).on_conflict_do_nothing()


def save_rewrite(collection_id: str, table: str, wording: str, rewritten: str) -> Insert:
    """Save the rewrite (the last one of a wording wins), unless the collection was deleted meanwhile."""
    digest = hashlib.sha256(wording.encode("utf-8", "replace")).hexdigest()
    source = select(collections.c.id, literal(table), literal(digest), literal(wording), literal(rewritten))
    names = ["collection_id", "name", "wording_sha256", "wording", "rewritten"]
    statement = insert(search_rewrites).from_select(names, source.where(collections.c.id == collection_id))
    fresh = {"rewritten": statement.excluded.rewritten, "updated_at": _NOW}
    return statement.on_conflict_do_update(index_elements=["collection_id", "name", "wording_sha256"], set_=fresh)


def rewrites(collection_id: str) -> Select[Any]:
    """The latest rewrites of the collection."""
    columns = (search_rewrites.c.name, search_rewrites.c.wording, search_rewrites.c.rewritten)
    return (
        select(*columns)
        .where(search_rewrites.c.collection_id == collection_id)
        .order_by(search_rewrites.c.updated_at.desc())
        .limit(_MOST_REWRITES)
    )
