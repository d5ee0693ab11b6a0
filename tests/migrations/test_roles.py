"""Each service logs in as a role that may use its tables, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from migrations import roles
from shared.db import with_driver


@pytest.fixture(params=sorted(roles.SERVICES))
def service(request: pytest.FixtureRequest, database_url: str) -> Iterator[tuple[str, Connection]]:
    name = str(request.param)
    owner = create_engine(with_driver(database_url))
    with owner.begin() as connection:
        roles.apply(connection)  # the rights to a database are not those of the template it was copied from
        roles.allow_login(connection, {name: "secret"})
    url = make_url(with_driver(database_url)).set(username=roles.PREFIX + name, password="secret")
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SET assay.tenant = '*'"))  # row-level security is another matter
        yield name, connection
    engine.dispose()
    owner.dispose()


def refused(connection: Connection, statement: str) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(text(statement))
    except DBAPIError as fault:  # that a row is of others' work is another matter, too
        return getattr(fault.orig, "sqlstate", None) == "42501" and "row-level security" not in str(fault.orig)
    return False


def test_a_role_does_what_its_table_says(service: tuple[str, Connection]) -> None:
    name, connection = service
    tables = {table for grants in roles.SERVICES.values() for table in grants}
    for table in tables:
        allowed = roles.SERVICES[name].get(table, ())
        assert refused(connection, f"SELECT FROM {table} LIMIT 1") == ("SELECT" not in allowed), table
        assert refused(connection, f"DELETE FROM {table}") == ("DELETE" not in allowed), table
        assert refused(connection, f"INSERT INTO {table} DEFAULT VALUES") == ("INSERT" not in allowed), table


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (n int)",
        "DROP TABLE jobs",
        "ALTER TABLE jobs DISABLE TRIGGER ALL",
        "TRUNCATE jobs",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('/etc/passwd')",
        "CREATE ROLE mine SUPERUSER",
        "SET ROLE postgres",
        "UPDATE alembic_version SET version_num = '0001'",
        "SELECT rolpassword FROM pg_authid",
    ],
)
def test_no_role_changes_the_schema_or_reaches_the_host(service: tuple[str, Connection], statement: str) -> None:
    _, connection = service
    assert refused(connection, statement)


def test_every_table_is_named_for_some_service(database_url: str) -> None:
    engine = create_engine(with_driver(database_url))
    with engine.connect() as connection:
        ours = text(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition "
            "AND relnamespace = 'public'::regnamespace"
        )
        tables = set(connection.scalars(ours))
    engine.dispose()
    named = {table for grants in roles.SERVICES.values() for table in grants}
    assert tables - named == set(), "name the new tables in migrations/roles.py"


def test_no_role_borrows_the_owners_rights_by_a_function(service: tuple[str, Connection]) -> None:
    name, connection = service
    definer = connection.execute(
        text(
            "SELECT oid::regprocedure::text AS function, has_function_privilege(oid, 'EXECUTE') AS may FROM pg_proc "
            "WHERE pronamespace = 'public'::regnamespace AND prosecdef"
        )
    ).all()
    assert len(definer) > 10
    called = {function.replace(", ", ",") for function, callers in roles.CALLED.items() if name in callers}
    assert {row.function for row in definer if row.may} == called
    own_work = {"assay_works(text,text,text[])", "assay_talks(text,text,text[])", "assay_serves(text,text[])"}
    assert called == (set() if name == "gateway" else own_work) or name == "reconciler"
    assert refused(connection, "CREATE TEMP TABLE t (id text, tenant_id text)")
    database = connection.scalar(text("SELECT has_database_privilege(current_database(), 'TEMPORARY')"))
    assert database is False


def test_a_role_calls_what_runs_with_its_own_rights(service: tuple[str, Connection]) -> None:
    _, connection = service
    own = text(
        "SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace AND NOT prosecdef"
    )
    assert connection.scalar(own)
