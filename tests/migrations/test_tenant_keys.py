"""All rows of a tenant go with their parent and with their tenant."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from uuid_utils import uuid7

Session = psycopg.Connection[tuple[object, ...]]

#: Tables whose rows belong to a job, a flow or a collection.
_CHILDREN = (
    "collection_tables",
    "flow_change_sets",
    "flow_proposals",
    "flow_snapshots",
    "flow_versions",
    "job_events",
    "job_forms",
    "search_rewrites",
)
_TENANTS = """
    SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attname = 'tenant_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'audit_log'
"""
#: A job, flow and collection of the tenant ``t``, each with ``{id}``, and every kind of row that belongs to one.
_WRITE = (
    """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, last_seq)
        VALUES ('{id}', 't', 'execute', '{{}}', '{id}', 'k', 1) RETURNING id
    ), conversation AS (
        INSERT INTO conversations (id, tenant_id) VALUES ('{id}', 't') ON CONFLICT DO NOTHING
    )
    INSERT INTO job_events (tenant_id, job_id, seq, type, fence) SELECT 't', id, 1, 'job_queued', 0 FROM job
    """,
    """
    WITH job AS (UPDATE jobs SET last_seq = last_seq + 1 WHERE id = '{id}' RETURNING id, last_seq)
    INSERT INTO job_events (tenant_id, job_id, seq, type, fence) SELECT 't', id, last_seq, 'turn_taken', 0 FROM job
    """,
    "INSERT INTO job_forms (tenant_id, job_id, name, media_type, body) VALUES ('t', '{id}', 'form', 'text/plain', 'x')",
    "INSERT INTO messages (tenant_id, conversation_id, role, content) VALUES ('t', '{id}', 'user', 'x')",
    """
    INSERT INTO flows (id, tenant_id, name, version, nodes_count, edges_count, snapshot_version, snapshot_bytes)
    VALUES ('{id}', 't', '', 1, 0, 0, 1, 1)
    """,
    """
    INSERT INTO flow_versions (tenant_id, flow_id, version, kind, actor, origin, operations)
    VALUES ('t', '{id}', 1, 'create', '', '', '')
    """,
    "INSERT INTO flow_snapshots (tenant_id, flow_id, version, document) VALUES ('t', '{id}', 1, '')",
    """
    INSERT INTO flow_change_sets (tenant_id, flow_id, seq, version, base_version, actor, origin, summary, moves_only,
                                  forward, inverse)
    VALUES ('t', '{id}', 1, 1, 1, '', '', '', false, '', '')
    """,
    """
    INSERT INTO flow_proposals (tenant_id, id, flow_id, base_version, state, actor, summary, forward)
    VALUES ('t', '{id}', '{id}', 1, 'open', '', '', '')
    """,
    "INSERT INTO collections (id, tenant_id, name, tables) VALUES ('{id}', 't', '{id}', '{{}}')",
    """
    INSERT INTO collection_tables (tenant_id, collection_id, name, fingerprint, thresholds, records)
    VALUES ('t', '{id}', 'table', 'f', '{{}}', 1)
    """,
    """
    INSERT INTO search_rewrites (tenant_id, collection_id, name, wording_sha256, wording, rewritten)
    VALUES ('t', '{id}', 'table', 'h', 'w', 'r')
    """,
)
_BATCH = """
    WITH batch AS (INSERT INTO batches (id, tenant_id) VALUES ('b', 't') RETURNING id)
    INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, batch_id)
    SELECT 'of a batch', 't', 'execute', '{}', 'c', 'k', id FROM batch
"""


@pytest.fixture
def connection(database_url: str) -> Iterator[Session]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def write(connection: Session) -> str:
    id = str(uuid7())
    for statement in _WRITE:
        connection.execute(statement.format(id=id).encode())
    return id


def count(connection: Session, table: str, tenant: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s".encode(), (tenant,)).fetchone()
    return int(str(row[0])) if row else -1


def test_rows_go_with_their_parent_and_with_the_tenant(connection: Session) -> None:
    ids = [write(connection) for _ in range(3)]
    connection.execute(_BATCH.encode())
    for table in _CHILDREN:
        expected = 2 * len(ids) if table == "job_events" else len(ids)
        assert (table, count(connection, table, "t")) == (table, expected)
    connection.execute("DELETE FROM jobs WHERE id = %s", (ids[0],))
    assert (count(connection, "job_events", "t"), count(connection, "job_forms", "t")) == (4, 2)
    connection.execute("INSERT INTO tenant_deletions (tenant, actor) VALUES ('t', 'k')")
    while connection.execute("SELECT assay_delete_tenant('t', 2)").fetchone() != (0,):
        pass
    for row in connection.execute(_TENANTS).fetchall():
        assert (row[0], count(connection, str(row[0]), "t")) == (row[0], 0)
