"""The tenant comes into every key while the version before writes without one; and the way back."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from uuid_utils import uuid7

from migrations import keys
from migrations.keys_online import keys_prepared
from migrations.upgrade import HERE, upgrade
from services.host.postgres import Postgres
from shared.db import with_driver
from shared.jobs.maintenance import LEADER_LOCK
from tests.support.beside import repeated
from tests.support.old_database import old_database

Session = psycopg.Connection[tuple[object, ...]]

#: As the version before writes, with ``{id}`` of one job, flow and collection.
_WRITE = (
    """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, last_seq)
        VALUES ('{id}', 't', 'execute', '{{}}', '{id}', 'k', 1) RETURNING id
    ), conversation AS (
        INSERT INTO conversations (id, tenant_id) VALUES ('{id}', 't') ON CONFLICT DO NOTHING
    )
    INSERT INTO job_events (job_id, seq, type, fence, data) SELECT id, 1, 'job_queued', 0, '{{}}' FROM job
    """,
    """
    WITH job AS (UPDATE jobs SET last_seq = last_seq + 1 WHERE id = '{id}' RETURNING id, last_seq)
    INSERT INTO job_events (job_id, seq, type, fence) SELECT id, last_seq, 'turn_taken', 0 FROM job
    """,
    "INSERT INTO job_forms (job_id, name, media_type, body) VALUES ('{id}', 'form', 'text/plain', 'x')",
    "INSERT INTO messages (tenant_id, conversation_id, role, content) VALUES ('t', '{id}', 'user', 'x')",
    """
    INSERT INTO flows (id, tenant_id, name, version, nodes_count, edges_count, snapshot_version, snapshot_bytes)
    VALUES ('{id}', 't', '', 1, 0, 0, 1, 1)
    """,
    """
    INSERT INTO flow_versions (flow_id, version, kind, actor, origin, operations)
    VALUES ('{id}', 1, 'create', '', '', '')
    """,
    "INSERT INTO flow_snapshots (flow_id, version, document) VALUES ('{id}', 1, '')",
    """
    INSERT INTO flow_change_sets (flow_id, seq, version, base_version, actor, origin, summary, moves_only, forward,
                                  inverse)
    VALUES ('{id}', 1, 1, 1, '', '', '', false, '', '')
    """,
    """
    INSERT INTO flow_proposals (id, flow_id, base_version, state, actor, summary, forward)
    VALUES ('{id}', '{id}', 1, 'open', '', '', '')
    """,
    "INSERT INTO collections (id, tenant_id, name, tables) VALUES ('{id}', 't', '{id}', '{{}}')",
    *[
        """
        INSERT INTO collection_tables (collection_id, name, fingerprint, thresholds, records)
        SELECT id, 'table', 'f', '{{}}', 1 FROM collections WHERE id = '{id}'
        ON CONFLICT (collection_id, name) DO UPDATE SET records = collection_tables.records + 1
        """,
        """
        INSERT INTO search_rewrites (collection_id, name, wording_sha256, wording, rewritten)
        SELECT id, 'table', 'h', 'w', 'r' FROM collections WHERE id = '{id}'
        ON CONFLICT (collection_id, name, wording_sha256) DO UPDATE SET rewritten = excluded.rewritten
        """,
    ]
    * 2,
)
_BATCH = """
    WITH batch AS (INSERT INTO batches (id, tenant_id) VALUES ('b', 't') RETURNING id)
    INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, batch_id)
    SELECT 'of a batch', 't', 'execute', '{}', 'c', 'k', id FROM batch
"""
_KEYS = """
    SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype IN ('p', 'f') AND connamespace = 'public'::regnamespace AND conrelid <> 0
"""


@pytest.fixture
def url(postgres_server: Postgres) -> Iterator[str]:
    with old_database(postgres_server, "0056") as url:
        yield url


@pytest.fixture
def connection(url: str) -> Iterator[Session]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def write(connection: Session) -> str:
    id = str(uuid7())
    for statement in _WRITE:
        connection.execute(statement.format(id=id).encode())
    return id


def count(connection: Session, table: str, tenant: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s".encode(), (tenant,)).fetchone()
    return int(str(row[0])) if row else -1


def downgrade(url: str) -> None:
    engine = create_engine(with_driver(url))
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(HERE).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.downgrade(config, "0056")
    engine.dispose()


def test_whoever_writes_without_the_tenant_goes_on_and_every_row_gets_it(url: str, connection: Session) -> None:
    ids = [write(connection) for _ in range(30)]
    connection.execute(_BATCH.encode())
    with (
        psycopg.connect(url, autocommit=True) as own,
        repeated(lambda: ids.append(write(own)), psycopg.Error) as faults,
    ):
        upgrade(url)
    assert faults == []
    assert len(ids) > 30
    ids.append(write(connection))
    for table in keys.CHILDREN:
        expected = 2 * len(ids) if table == "job_events" else len(ids)
        assert (table, count(connection, table, "t"), count(connection, table, "")) == (table, expected, 0)
    not_validated = "SELECT conname FROM pg_constraint WHERE contype = 'f' AND NOT convalidated"
    assert connection.execute(not_validated).fetchall() == []


def test_a_leader_that_holds_a_snapshot_holds_nobody_up(url: str, connection: Session) -> None:
    """As the reconciler of the version before does, whose statement is prepared by then."""
    with psycopg.connect(url) as leader:
        leader.execute("SELECT pg_advisory_xact_lock(%s)", (LEADER_LOCK,))
        leader.execute("SELECT 1", prepare=True)
        upgrade(url)
        with pytest.raises(psycopg.OperationalError):
            leader.execute("SELECT 1")


def test_what_an_attempt_has_left_is_finished_by_the_next(url: str, connection: Session) -> None:
    ids = [write(connection) for _ in range(3)]
    # Rows that were left unfilled, an index whose building was killed, and a reference that nobody looked through.
    connection.execute(keys.filling("jobs").encode())
    connection.execute(keys.ADD_COLUMN.format("job_forms").encode())
    connection.execute(f"CREATE UNIQUE INDEX {keys.new_index('files')} ON files (id, tenant_id)".encode())
    unfinished = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass"
    connection.execute(unfinished, (keys.new_index("files"),))
    with keys_prepared(url):
        assert count(connection, "job_forms", "t") == len(ids)
    with keys_prepared(url):  # all is there: nothing is done
        pass
    upgrade(url)
    defined = [row for row in connection.execute(_KEYS) if row[0] == "files"]
    assert defined == [("files", "PRIMARY KEY (id, tenant_id)")]


def test_events_that_outlive_their_job_are_nobodys(url: str, connection: Session) -> None:
    connection.execute("INSERT INTO job_events (job_id, seq, type, fence) VALUES ('gone', 1, 'job_queued', 0)")
    write(connection)
    upgrade(url)
    assert (count(connection, "job_events", ""), count(connection, "job_events", "t")) == (1, 2)


def test_all_goes_with_its_parent_and_the_tenant(url: str, connection: Session) -> None:
    ids = [write(connection) for _ in range(3)]
    connection.execute(_BATCH.encode())
    upgrade(url)
    connection.execute("DELETE FROM jobs WHERE id = %s", (ids[0],))
    assert (count(connection, "job_events", "t"), count(connection, "job_forms", "t")) == (4, 2)
    connection.execute("INSERT INTO tenant_deletions (tenant, actor) VALUES ('t', 'k')")
    while connection.execute("SELECT assay_delete_tenant('t', 2)").fetchone() != (0,):
        pass
    for table in (*keys.CHILDREN, *keys.KEYS):
        assert (table, count(connection, table, "t")) == (table, 0)


def test_the_way_back_has_the_keys_of_before(url: str, connection: Session) -> None:
    before = sorted(map(str, connection.execute(_KEYS)))
    ids = [write(connection) for _ in range(2)]
    upgrade(url)
    assert sorted(map(str, connection.execute(_KEYS))) != before
    downgrade(url)
    assert sorted(map(str, connection.execute(_KEYS))) == before
    ids.append(write(connection))
    upgrade(url)
    assert count(connection, "flow_versions", "t") == len(ids)
