"""What the search worker knows about collections, and how it is read and saved."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import JsonValue
from sqlalchemy import (
    Connection,
    Engine,
    Executable,
    Select,
    exists,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.exc import OperationalError

import shared.collections as statements
import shared.jobs.record.tables  # noqa: F401 - the attempts refer to jobs
from shared.collections import collections, search_attempts, search_rewrites
from shared.contracts.search import TableSpec
from shared.errors import DatabaseUnavailable, UnknownCollection

_NOW = text("clock_timestamp()")
_MAX_REWRITES = 200

#: Runs inside the transaction that completes the job.
Effect = Callable[[Connection], None]


@dataclass(frozen=True)
class TableStatistics:
    """What an ingest measured of one table with one embedding model."""

    fingerprint: str
    thresholds: Mapping[str, float]
    records: int


@dataclass(frozen=True)
class Rewrite:
    """A wording that found nothing in a table, and the one that did."""

    table: str
    wording: str
    rewritten: str


@dataclass(frozen=True)
class CollectionInfo:
    tenant_id: str
    id: str
    name: str
    tables: Mapping[str, TableSpec]
    embedding: str | None
    statistics: Mapping[str, TableStatistics]  #: of the tables that were ingested


class Catalog(Protocol):
    def find(self, tenant_id: str, name: str) -> CollectionInfo:
        """Return the collection. Raises: UnknownCollection."""
        ...

    def rewrites(self, tenant_id: str, collection_id: str) -> list[Rewrite]: ...

    def dropped(self) -> list[str]:
        """Ids of deleted collections whose points are still in the store."""
        ...

    def mark_swept(self, collection_id: str) -> None: ...

    def save_statistics(
        self, tenant_id: str, collection_id: str, table: str, statistics: TableStatistics
    ) -> Effect: ...

    def save_rewrite(self, tenant_id: str, collection_id: str, rewrite: Rewrite) -> Effect: ...

    def save_attempts(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect: ...


class SqlCatalog:
    """The catalog in Postgres."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, tenant_id: str, name: str) -> CollectionInfo:
        try:
            with self._engine.connect() as connection:
                row = connection.execute(statements.find(tenant_id, name)).mappings().one_or_none()
        except OperationalError:
            raise DatabaseUnavailable("the database does not answer") from None
        if row is None:
            raise UnknownCollection(f"there is no collection {name!r}; create it with POST /v1/collections")
        specs = {table: TableSpec.model_validate(spec) for table, spec in row["tables"].items()}
        statistics = {table: TableStatistics(**facts) for table, facts in (row["statistics"] or {}).items()}
        return CollectionInfo(row["tenant_id"], row["id"], row["name"], specs, row["embedding"], statistics)

    def rewrites(self, tenant_id: str, collection_id: str) -> list[Rewrite]:
        with self._engine.connect() as connection:
            return [Rewrite(*row) for row in connection.execute(_rewrites(tenant_id, collection_id))]

    def has_any(self) -> bool:
        """Return whether any tenant has a collection."""
        with self._engine.connect() as connection:
            return connection.execute(select(exists().select_from(collections))).scalar_one()

    def dropped(self) -> list[str]:
        with self._engine.connect() as connection:
            return list(connection.execute(statements.dropped()).scalars())

    def mark_swept(self, collection_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(statements.delete_dropped(collection_id))

    def save_statistics(self, tenant_id: str, collection_id: str, table: str, statistics: TableStatistics) -> Effect:
        statement = statements.save_statistics(
            tenant_id, collection_id, table, statistics.fingerprint, statistics.thresholds, statistics.records
        )
        return lambda connection: _run(connection, statement)

    def save_rewrite(self, tenant_id: str, collection_id: str, rewrite: Rewrite) -> Effect:
        statement = _save_rewrite(tenant_id, collection_id, rewrite)
        return lambda connection: _run(connection, statement)

    def save_attempts(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect:
        statement = insert(search_attempts).values(list(rows)).on_conflict_do_nothing()
        return lambda connection: _run(connection, statement)


def _run(connection: Connection, statement: Executable) -> None:
    connection.execute(statement)


def _save_rewrite(tenant_id: str, collection_id: str, rewrite: Rewrite) -> Insert:
    """Save the rewrite (the last one of a wording wins), unless the collection was deleted meanwhile."""
    digest = hashlib.sha256(rewrite.wording.encode("utf-8", "replace")).hexdigest()
    values = [literal(value) for value in (rewrite.table, digest, rewrite.wording, rewrite.rewritten)]
    names = ["tenant_id", "collection_id", "name", "wording_sha256", "wording", "rewritten"]
    statement = insert(search_rewrites).from_select(names, statements.of_kept(tenant_id, collection_id, *values))
    fresh = {"rewritten": statement.excluded.rewritten, "updated_at": _NOW}
    return statement.on_conflict_do_update(index_elements=names[:4], set_=fresh)


def _rewrites(tenant_id: str, collection_id: str) -> Select[Any]:
    """Return the latest rewrites of the collection."""
    columns = (search_rewrites.c.name, search_rewrites.c.wording, search_rewrites.c.rewritten)
    return (
        select(*columns)
        .where(search_rewrites.c.tenant_id == tenant_id, search_rewrites.c.collection_id == collection_id)
        .order_by(search_rewrites.c.updated_at.desc())
        .limit(_MAX_REWRITES)
    )
