"""The table of events of before becomes the first partition while the version before runs, and back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from uuid_utils import uuid7

from migrations import online, roles
from migrations.partitions import BEFORE
from migrations.upgrade import HERE, upgrade
from services.host.postgres import Postgres
from shared.db import connect, with_driver
from tests.support.beside import repeated
from tests.support.event_days import partition_on, partitions
from tests.support.old_database import old_database

#: As the version before writes a job and an event, and as its retention deletes.
_SUBMIT = """
    WITH job AS (
        INSERT INTO jobs (id, tenant_id, kind, input, conversation_id, actor, last_seq)
        VALUES (:id, 't', 'execute', '{}', :id, 'k', 1) RETURNING id
    ), conversation AS (
        INSERT INTO conversations (id, tenant_id) VALUES (:id, 't')
    )
    INSERT INTO job_events (job_id, seq, type, fence, data) SELECT id, 1, 'job_queued', 0, '{}' FROM job
"""
_APPEND = """
    WITH job AS (UPDATE jobs SET last_seq = last_seq + 1 WHERE id = :id RETURNING id, last_seq)
    INSERT INTO job_events (job_id, seq, type, fence) SELECT id, last_seq, 'turn_taken', 0 FROM job
"""
_EXPIRE = "DELETE FROM jobs WHERE id = ANY(ARRAY(SELECT id FROM jobs WHERE id = :id FOR UPDATE SKIP LOCKED))"


@pytest.fixture
def url(postgres_server: Postgres) -> Iterator[str]:
    with old_database(postgres_server, "0055") as url:
        yield url


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = connect(url)
    try:
        yield engine
    finally:
        engine.dispose()


def write(connection: Connection, id: str) -> str:
    connection.execute(text(_SUBMIT), {"id": id})
    connection.execute(text(_APPEND), {"id": id})
    return id


def places(connection: Connection) -> dict[str, str]:
    listed = "SELECT job_id, min(tableoid::regclass::text) FROM job_events GROUP BY job_id HAVING count(*) = 2"
    return {row[0]: row[1] for row in connection.execute(text(listed))}


def constraints(connection: Connection) -> list[str]:
    named = text("SELECT conname FROM pg_constraint WHERE starts_with(conname, :before)")
    return list(connection.scalars(named, {"before": BEFORE}))


def test_rows_stay_where_they_are_and_whoever_wrote_before_goes_on(url: str) -> None:
    with opened(url) as engine, engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        ids = [write(connection, str(uuid7())) for _ in range(20)]
        file = connection.execute(text("SELECT pg_relation_filenode('job_events')")).scalar_one()
        written = list[str]()
        with (
            engine.execution_options(isolation_level="AUTOCOMMIT").connect() as own,
            repeated(lambda: written.append(write(own, str(uuid7()))), DBAPIError) as faults,
        ):
            upgrade(url)
        assert faults == []
        assert len(written) > 0
        ids += [*written, write(connection, str(uuid7()))]
        assert places(connection) == dict.fromkeys(ids, "job_events_first")
        now = connection.execute(text("SELECT pg_relation_filenode('job_events_first')")).scalar_one()
        assert now == file, "nothing was copied"
        assert constraints(connection) == []
        connection.execute(text(_EXPIRE), {"id": ids[3]})
        assert set(places(connection)) == set(ids) - {ids[3]}
        assert {partition_on(connection, -9), "job_events_default"}.isdisjoint(set(places(connection).values()))


def test_the_first_partition_reaches_beyond_the_upgrade_and_days_follow(url: str) -> None:
    with opened(url) as engine, engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        write(connection, str(uuid7()))
        with online.events_looked_through(url):
            assert len(constraints(connection)) == 1
            validated = "SELECT convalidated FROM pg_constraint WHERE conname = :name"
            assert connection.execute(text(validated), {"name": constraints(connection)[0]}).scalar_one()
        upgrade(url, "0056")
        bounds = connection.execute(text("SELECT name, from_id FROM job_event_partitions()")).all()
        assert bounds == [("job_events_first", None)]  # of eight days: later ones are added when it is time
        assert partitions(connection) == {"job_events_first", "job_events_default"}


def test_ids_that_are_no_times_go_to_the_default_partition(url: str) -> None:
    with opened(url) as engine, engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        ids = [write(connection, id) for id in ("l0001", "ffffffff-ffff-7000-8000-000000000000", "", str(uuid7()))]
        upgrade(url)
        assert places(connection) == {
            ids[0]: "job_events_default",
            ids[1]: "job_events_default",
            ids[2]: "job_events_first",
            ids[3]: "job_events_first",
        }
        assert len(partitions(connection)) > 7, "days are added ahead"


def fail_between(url: str, seen: list[str], connection: Connection) -> None:
    with online.events_looked_through(url):
        seen += constraints(connection)
        raise ZeroDivisionError


def test_an_upgrade_that_fails_leaves_no_constraint_behind(url: str) -> None:
    with opened(url) as engine, engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        write(connection, str(uuid7()))
        connection.execute(text(f"ALTER TABLE job_events ADD CONSTRAINT {BEFORE}20200101 CHECK (seq > 0) NOT VALID"))
        seen = list[str]()
        with pytest.raises(ZeroDivisionError):
            fail_between(url, seen, connection)
        assert (len(seen), seen[:1] == [f"{BEFORE}20200101"]) == (1, False), "one of an attempt long ago is replaced"
        assert constraints(connection) == []


def test_several_that_migrate_at_once_take_turns(url: str) -> None:
    with opened(url) as engine:
        with engine.begin() as connection:
            write(connection, str(uuid7()))
        with ThreadPoolExecutor(3) as migrations:
            for each in [migrations.submit(upgrade, url) for _ in range(3)]:
                each.result(60)
        with engine.connect() as connection:
            assert constraints(connection) == []
            assert len(places(connection)) == 1


def test_the_table_is_waited_for_and_nobody_is_held_up(url: str) -> None:
    with opened(url) as engine:
        with engine.begin() as connection:
            write(connection, str(uuid7()))
        with engine.begin() as long:
            write(long, str(uuid7()))
            migration = Thread(target=upgrade, args=(url,))
            migration.start()
            for _ in range(30):
                with engine.begin() as connection:
                    write(connection, str(uuid7()))
            assert migration.is_alive()
        migration.join(60)
        assert not migration.is_alive()
        with engine.connect() as connection:
            assert len(places(connection)) == 32


def test_the_way_back_has_the_rows_and_their_foreign_key(url: str) -> None:
    with opened(url) as engine:
        with engine.begin() as connection:
            ids = [write(connection, id) for id in ("odd", str(uuid7()))]
        upgrade(url)
        with engine.begin() as connection:
            ids.append(write(connection, str(uuid7())))
            connection.execute(text("INSERT INTO job_events (job_id, seq, type, fence) VALUES ('gone', 1, 'x', 0)"))
            config = Config()
            config.set_main_option("script_location", str(HERE).replace("%", "%%"))
            config.attributes["connection"] = connection
            command.downgrade(config, "0055")
        with engine.begin() as connection:
            assert places(connection) == dict.fromkeys(ids, "job_events")
            connection.execute(text("DELETE FROM jobs WHERE id = 'odd'"))
            assert set(places(connection)) == set(ids[1:])
        upgrade(url)
        with engine.connect() as connection:
            assert set(places(connection)) == set(ids[1:])


@pytest.mark.parametrize("service", sorted(roles.SERVICES))
def test_no_service_reaches_a_partition_but_through_its_table(database_url: str, service: str) -> None:
    owner = create_engine(with_driver(database_url))
    with owner.begin() as connection:
        roles.apply(connection)  # as every upgrade does
        roles.allow_login(connection, {service: "secret"})
        names = partitions(connection)
        added = set(connection.scalars(text("SELECT name FROM job_event_partitions() WHERE from_id IS NOT NULL")))
    owner.dispose()
    assert len(added) > 5
    assert {"job_events_first", "job_events_default"} <= names
    login = make_url(database_url).set(drivername="postgresql", username=roles.PREFIX + service, password="secret")
    with psycopg.connect(login.render_as_string(hide_password=False), autocommit=True) as own:
        statements = [f"{verb} {name}" for name in names for verb in ("TABLE", "DELETE FROM", "TRUNCATE", "DROP TABLE")]
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement.encode())
        asked = ("SELECT assay_add_event_days(1)", "SELECT assay_drop_event_days('job_events_first')")
        for statement in asked:
            if service == "reconciler":
                own.execute(statement.encode())
            else:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    own.execute(statement.encode())
