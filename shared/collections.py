"""Collections: the tables that a tenant declared, and what ingest has measured of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import uuid_utils
from pydantic import JsonValue
from sqlalchemy import (
    Column,
    ColumnElement,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    RowMapping,
    Select,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    func,
    literal,
    select,
    text,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import JSONB, Insert, insert
from sqlalchemy.sql.dml import Delete, ReturningInsert

from shared.contracts.search import CollectionInput, CollectionView
from shared.db import metadata

_NOW = text("clock_timestamp()")

collections = Table(
    "collections",
    metadata,
    Column("id", Text, primary_key=True),  # names the points in the search store; never used twice
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("tables", JSONB, nullable=False),
    Column("embedding", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    UniqueConstraint("tenant_id", "name"),
)

collection_tables = Table(
    "collection_tables",
    metadata,
    Column("collection_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),  # of the embedding model that the thresholds belong to
    Column("thresholds", JSONB, nullable=False),
    Column("records", Integer, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    ForeignKeyConstraint(
        ["collection_id", "tenant_id"], ["collections.id", "collections.tenant_id"], ondelete="CASCADE"
    ),
)

search_attempts = Table(
    "search_attempts",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("collection_id", Text, nullable=False, index=True),
    Column("strategy", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("user_message", Text, nullable=False),
    Column("queries", JSONB, nullable=False),  # each with its threshold, filters, hits, error and milliseconds
    Column("gain", Integer, nullable=False),  # records that no earlier attempt had found
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    ForeignKeyConstraint(["job_id", "tenant_id"], ["jobs.id", "jobs.tenant_id"], ondelete="CASCADE"),
)

search_rewrites = Table(
    "search_rewrites",
    metadata,
    Column("collection_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),  # of the table
    Column("wording_sha256", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("wording", Text, nullable=False),
    Column("rewritten", Text, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    ForeignKeyConstraint(
        ["collection_id", "tenant_id"], ["collections.id", "collections.tenant_id"], ondelete="CASCADE"
    ),
)

# Points of deleted collections are in a store that only the search worker opens; it removes them later.
dropped_collections = Table(
    "dropped_collections",
    metadata,
    Column("collection_id", Text, primary_key=True),
    Column("dropped_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)


def create(tenant_id: str, wanted: CollectionInput) -> ReturningInsert[Any]:
    """Add a collection; no row when the name is taken."""
    row = {
        "id": uuid_utils.uuid7().hex,
        "tenant_id": tenant_id,
        "name": wanted.name,
        "tables": _stored(wanted),
        "embedding": wanted.embedding,
    }
    return insert(collections).values(row).on_conflict_do_nothing().returning(*collections.c)


def find(tenant_id: str, name: str) -> Select[Any]:
    return _described().where(collections.c.tenant_id == tenant_id, collections.c.name == name)


def page(tenant_id: str, limit: int, before: tuple[datetime, str] | None = None) -> Select[Any]:
    """Select the tenant's collections, newest first; ``before``: (created_at, id) of the last one seen."""
    query = _described().where(collections.c.tenant_id == tenant_id)
    if before is not None:
        created_at, last = before
        at = collections.c.created_at
        query = query.where((at < created_at) | ((at == created_at) & (collections.c.id < last)))
    return query.order_by(collections.c.created_at.desc(), collections.c.id.desc()).limit(limit)


def attempts(tenant_id: str, name: str, limit: int, before: tuple[datetime, str] | None = None) -> TextClause:
    """Select the search attempts on the collection, newest first; ``before``: (created_at, id) of the last one seen."""
    at, id = before or (None, None)
    return text(
        """
        SELECT * FROM (
            SELECT a.job_id || '-' || a.number AS id, a.job_id, a.number, a.strategy, a.reasoning, a.user_message,
                   a.queries, a.gain, a.created_at
            FROM search_attempts a JOIN collections c ON c.tenant_id = a.tenant_id AND c.id = a.collection_id
            WHERE c.tenant_id = :tenant AND a.tenant_id = :tenant AND c.name = :name
        ) AS tried
        WHERE CAST(:at AS timestamptz) IS NULL OR (created_at, id) < (:at, CAST(:id AS text))
        ORDER BY created_at DESC, id DESC LIMIT :most
        """
    ).bindparams(tenant=tenant_id, name=name, at=at, id=id, most=limit)


def drop(tenant_id: str, name: str) -> ReturningInsert[Any]:
    """Delete a collection and mark its points for removal, in one statement; no row if it does not exist."""
    gone = (
        delete_from(collections)
        .where(collections.c.tenant_id == tenant_id, collections.c.name == name)
        .returning(collections.c.id)
        .cte("gone")
    )
    return (
        insert(dropped_collections)
        .from_select(["collection_id"], select(gone.c.id))
        .returning(dropped_collections.c.collection_id)
    )


def dropped() -> Select[Any]:
    return select(dropped_collections.c.collection_id)


def delete_dropped(collection_id: str) -> Delete:
    return delete_from(dropped_collections).where(dropped_collections.c.collection_id == collection_id)


def save_statistics(
    tenant_id: str, collection_id: str, table: str, fingerprint: str, thresholds: Mapping[str, float], records: int
) -> Insert:
    """Save what an ingest measured; nothing happens when the collection was deleted meanwhile."""
    facts = (literal(table), literal(fingerprint), literal(dict(thresholds), JSONB), literal(records))
    source = of_kept(tenant_id, collection_id, *facts, func.clock_timestamp())
    names = ["tenant_id", "collection_id", "name", "fingerprint", "thresholds", "records", "updated_at"]
    statement = insert(collection_tables).from_select(names, source)
    updated = {name: statement.excluded[name] for name in names[3:]}
    return statement.on_conflict_do_update(index_elements=names[:3], set_=updated)


def of_kept(tenant_id: str, collection_id: str, *values: ColumnElement[Any]) -> Select[Any]:
    """Select the tenant, the collection and these values, unless it was deleted meanwhile; its writers are serialized.

    Its tables and wordings are unique with and without their tenant (a migration's ``KEPT``): of two concurrent first
    writers of the same one, the second would otherwise violate the key that it does not name.
    """
    kept = select(collections.c.tenant_id, collections.c.id, *values)
    mine = (collections.c.tenant_id == tenant_id) & (collections.c.id == collection_id)
    return kept.where(mine).with_for_update(key_share=True)


def declares(row: RowMapping, wanted: CollectionInput) -> bool:
    """Return whether the collection was declared with the same tables and embedding."""
    return bool(row["tables"] == _stored(wanted) and row["embedding"] == wanted.embedding)


def _stored(wanted: CollectionInput) -> dict[str, JsonValue]:
    """Return the tables as they are stored: without settings that are left out, as those of older collections."""
    return {
        name: spec.model_dump(mode="json", exclude={"passages"} if spec.passages is None else None)
        for name, spec in wanted.tables.items()
    }


def view(row: RowMapping, default_embedding: str) -> CollectionView:
    """Return a row of ``find`` or ``page`` in the form of the API, with the default embedding if it names none."""
    statistics: Mapping[str, Mapping[str, JsonValue]] = row["statistics"] or {}
    return CollectionView.model_validate(
        {
            **{name: row[name] for name in ("name", "tables", "created_at")},
            "embedding": row["embedding"] or default_embedding,
            "records": {table: measured["records"] for table, measured in statistics.items()},
            "thresholds": {table: measured["thresholds"] for table, measured in statistics.items()},
        }
    )


def _described() -> Select[Any]:
    """Select collections with ``statistics``: {table: {fingerprint, thresholds, records}}."""
    facts = func.jsonb_build_object(
        *("fingerprint", collection_tables.c.fingerprint),
        *("thresholds", collection_tables.c.thresholds),
        *("records", collection_tables.c.records),
    )
    statistics = (
        select(func.jsonb_object_agg(collection_tables.c.name, facts))
        .where(
            collection_tables.c.tenant_id == collections.c.tenant_id,
            collection_tables.c.collection_id == collections.c.id,
        )
        .scalar_subquery()
    )
    return select(*collections.c, statistics.label("statistics"))
