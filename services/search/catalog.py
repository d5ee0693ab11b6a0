"""What the search worker knows about collections, and how that knowledge is read and kept."""

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
class Learned:
    """What an ingest learnt about one table under one embedding model."""

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
    learned: Mapping[str, Learned]


class Catalog(Protocol):
    def find(self, tenant_id: str, name: str) -> CollectionInfo:
        """Raises: UnknownCollection."""
        ...

    def rewrites(self, collection_id: str) -> list[Rewrite]: ...

    def dropped(self) -> list[str]:
        """Ids of deleted collections whose points are still in the store."""
        ...

    def swept(self, collection_id: str) -> None: ...

    def learning(self, collection_id: str, table: str, learned: Learned) -> Effect: ...

    def remembering(self, collection_id: str, rewrite: Rewrite) -> Effect: ...

    def recording(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect: ...


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
        learned = {table: Learned(**facts) for table, facts in (row["learned"] or {}).items()}
        return CollectionInfo(row["id"], row["name"], specs, row["embedding"], learned)

    def rewrites(self, collection_id: str) -> list[Rewrite]:
        with self._engine.connect() as connection:
            return [Rewrite(*row) for row in connection.execute(tables.rewrites(collection_id))]

    def dropped(self) -> list[str]:
        with self._engine.connect() as connection:
            return list(connection.execute(statements.dropped()).scalars())

    def swept(self, collection_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(statements.swept(collection_id))

    def learning(self, collection_id: str, table: str, learned: Learned) -> Effect:
        statement = statements.learn(collection_id, table, learned.fingerprint, learned.thresholds, learned.records)
        return lambda connection: _run(connection, statement)

    def remembering(self, collection_id: str, rewrite: Rewrite) -> Effect:
        statement = tables.keep_rewrite(collection_id, rewrite.table, rewrite.wording, rewrite.rewritten)
        return lambda connection: _run(connection, statement)

    def recording(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect:
        return lambda connection: _run(connection, tables.keep_attempts(rows))


def _run(connection: Connection, statement: Executable) -> None:
    connection.execute(statement)
