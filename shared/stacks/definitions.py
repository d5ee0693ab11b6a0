"""Statements about a tenant's definitions: every change is a new version, and a version never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, Delete, Integer, RowMapping, Select, Text, delete, exists, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert

from shared.contracts.definitions import Definition, DefinitionSet, DefinitionsVersion
from shared.stacks.tables import stack_definitions as table

#: Older versions are deleted when a new one is stored.
MAX_VERSIONS = 200
EMPTY = DefinitionSet(version=0, count=0, created_at=None, yaml="", definitions=[])


def find(tenant: str, version: int | None = None) -> Select[Any]:
    """Select one version of the tenant's set, by default the newest."""
    wanted = select(table).where(table.c.tenant_id == tenant)
    if version is not None:
        return wanted.where(table.c.version == version)
    return wanted.order_by(table.c.version.desc()).limit(1)


def newest(tenant: str) -> Select[Any]:
    """Select the newest version's number; no row before the first."""
    return select(table.c.version).where(table.c.tenant_id == tenant).order_by(table.c.version.desc()).limit(1)


def unknown(tenant: str, numbers: Sequence[int]) -> Select[Any]:
    """Select the given versions that do not exist."""
    given = func.unnest(literal(list(numbers), ARRAY(Integer))).column_valued("given")
    return select(given).where(~exists().where(table.c.tenant_id == tenant, table.c.version == given))


def versions(tenant: str) -> Select[Any]:
    columns = (table.c.version, table.c.actor, table.c.created_at, table.c.note)
    count = func.jsonb_array_length(table.c.definitions).label("count")
    return select(*columns, count).where(table.c.tenant_id == tenant).order_by(table.c.version.desc())


def add(
    tenant: str,
    yaml: str,
    definitions: Sequence[Definition],
    actor: str,
    expected: int | None,
    note: str | None = None,
) -> ReturningInsert[Any]:
    """Keep a new version; no row when another came first, or when ``expected`` is not the newest."""
    before = select(func.coalesce(func.max(table.c.version), 0).label("version")).where(table.c.tenant_id == tenant)
    last = before.subquery()
    said = [definition.model_dump(mode="json") for definition in definitions]
    row = select(
        literal(tenant), last.c.version + 1, literal(yaml), literal(said, table.c.definitions.type), literal(actor),
        literal(note, Text),
    )  # fmt: skip
    if expected is not None:
        row = row.where(last.c.version == expected)
    names = ["tenant_id", "version", "yaml", "definitions", "actor", "note"]
    return insert(table).from_select(names, row).on_conflict_do_nothing().returning(table)


def forget(tenant: str, newest_version: int) -> Delete:
    return delete(table).where(table.c.tenant_id == tenant, table.c.version <= newest_version - MAX_VERSIONS)


def view(row: RowMapping | None) -> DefinitionSet:
    if row is None:
        return EMPTY
    definitions = [Definition.model_validate(definition) for definition in row["definitions"]]
    return DefinitionSet(
        version=row["version"], count=len(definitions), created_at=row["created_at"], actor=row["actor"],
        note=row["note"], yaml=row["yaml"], definitions=definitions,
    )  # fmt: skip


def summary(row: RowMapping) -> DefinitionsVersion:
    return DefinitionsVersion.model_validate({**row})
