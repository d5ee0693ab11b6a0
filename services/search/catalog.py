"""What the search worker knows about collections, and how it is read and saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, Executable
from sqlalchemy.exc import OperationalError

import shared.collections as statements
from services.search import tables
from shared.contracts.search import TableSpec
from shared.errors import DatabaseUnavailable, UnknownCollection

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
    id: str
    name: str
    tables: Mapping[str, TableSpec]
    embedding: str | None
    statistics: Mapping[str, TableStatistics]  #: of the tables that were ingested


class Catalog(Protocol):
    def find(self, tenant_id: str, name: str) -> CollectionInfo:
        """Raises: UnknownCollection."""
        ...

    def rewrites(self, collection_id: str) -> list[Rewrite]: ...

    def dropped(self) -> list[str]:
        """Ids of deleted collections whose points are still in the store."""
        ...

    def mark_swept(self, collection_id: str) -> None: ...

    def save_statistics(self, collection_id: str, table: str, statistics: TableStatistics) -> Effect: ...

    def save_rewrite(self, collection_id: str, rewrite: Rewrite) -> Effect: ...

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
        return CollectionInfo(row["id"], row["name"], specs, row["embedding"], statistics)

    def rewrites(self, collection_id: str) -> list[Rewrite]:
        with self._engine.connect() as connection:
            return [Rewrite(*row) for row in connection.execute(tables.rewrites(collection_id))]

    def dropped(self) -> list[str]:
        with self._engine.connect() as connection:
            return list(connection.execute(statements.dropped()).scalars())

    def mark_swept(self, collection_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(statements.delete_dropped(collection_id))

    def save_statistics(self, collection_id: str, table: str, statistics: TableStatistics) -> Effect:
        statement = statements.save_statistics(
            collection_id, table, statistics.fingerprint, statistics.thresholds, statistics.records
        )
        return lambda connection: _run(connection, statement)

    def save_rewrite(self, collection_id: str, rewrite: Rewrite) -> Effect:
        statement = tables.save_rewrite(collection_id, rewrite.table, rewrite.wording, rewrite.rewritten)
        return lambda connection: _run(connection, statement)

    def save_attempts(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect:
        return lambda connection: _run(connection, tables.save_attempts(rows))


def _run(connection: Connection, statement: Executable) -> None:
    connection.execute(statement)
