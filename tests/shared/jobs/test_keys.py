"""Every key has the tenant in it, so that a Postgres whose tables are spread by ``tenant_id`` takes them as they are.

Such a Postgres (Citus, say) keeps rows of one tenant together. It needs the column in every unique key and in every
foreign key between two such tables. What belongs to no tenant is named here, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint

import shared.audit
import shared.blobs
import shared.collections
import shared.conversations
import shared.evaluations.tables
import shared.flows.tables
import shared.jobs.content.uploads
import shared.jobs.record.counts
import shared.jobs.record.marks
import shared.jobs.record.quotas
import shared.jobs.record.tables
import shared.jobs.record.webhooks
import shared.jobs.upkeep.deletion
import shared.keys
import shared.llm.tables
import shared.stacks.tables  # noqa: F401 - each declares tables
from shared.db import metadata

#: Tables of no tenant, or whose key cannot have the tenant in it: they stay on one node, or are on every one.
_OF_NOBODY: Mapping[str, str] = {
    "alembic_version": "of the installation",
    "api_keys": "a key is found by its id before it is known whose it is; few rows, on every node",
    "audit_log": "one chain of hashes over all tenants, added to one after the other",
    "dropped_collections": "what the search worker has yet to remove, until it has",
    "model_chains": "of the installation",
    "model_endpoints": "of the installation",
    "model_vendors": "of the installation",
    "prompt_gates": "which versions of the installation's prompts may be used, and whose evaluation said so",
    "prompt_labels": "of the installation",
    "prompt_versions": "of the installation",
    "session_codes": "redeemed before it is known whose it is; good for a minute",
    "tenant_deletions": "outlives all that is the tenant's",
    "workers": "serve every tenant",
}
_UNIQUE = """
    SELECT c.relname, x.relname, array_agg(a.attname::text)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey::smallint[])
    WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace GROUP BY 1, 2
"""
_REFERENCES = """
    SELECT f.conname, f.conrelid::regclass::text, f.confrelid::regclass::text, f.convalidated,
           (SELECT array_agg(a.attname::text ORDER BY n) FROM unnest(f.conkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = num),
           (SELECT array_agg(a.attname::text ORDER BY n) FROM unnest(f.confkey) WITH ORDINALITY AS k (num, n)
            JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = num)
    FROM pg_constraint f WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace
"""
_TABLES = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"


def test_every_declared_key_has_the_tenant_in_it() -> None:
    keys = {
        f"{table.name}: {sorted(each.name for each in constraint.columns)}"
        for table in metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, (PrimaryKeyConstraint, UniqueConstraint)) and table.name not in _OF_NOBODY
        if "tenant_id" not in constraint.columns
    }
    assert keys == set()
    unique = {
        index.name
        for table in metadata.tables.values()
        for index in table.indexes
        if index.unique and table.name not in _OF_NOBODY and "tenant_id" not in index.columns
    }
    assert unique == set()


def test_every_declared_reference_has_the_tenant_on_both_sides() -> None:
    for table in metadata.tables.values():
        for constraint in table.foreign_key_constraints:
            pairs = {element.parent.name: element.column.name for element in constraint.elements}
            assert pairs.get("tenant_id") == "tenant_id", constraint.name


def test_every_key_of_the_database_has_the_tenant_in_it(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        tables = {row[0] for row in connection.execute(_TABLES)}
        indexes = connection.execute(_UNIQUE).fetchall()
        references = connection.execute(_REFERENCES).fetchall()
    known = {name for name in tables if not name.startswith("job_events_")}
    assert known == set(metadata.tables) | {"alembic_version"}
    missing = {index for table, index, columns in indexes if table not in _OF_NOBODY and "tenant_id" not in columns}
    assert missing == set()
    for name, table, parent, validated, columns, of_parent in references:
        assert table not in _OF_NOBODY, name
        assert parent not in _OF_NOBODY, name
        assert dict(zip(columns, of_parent, strict=True)).get("tenant_id") == "tenant_id", name
        assert validated, name


def test_nothing_on_the_list_is_a_table_that_is_not_there() -> None:
    assert set(_OF_NOBODY) - set(metadata.tables) == {"alembic_version"}
