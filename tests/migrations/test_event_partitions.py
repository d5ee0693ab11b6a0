"""Partitions of events are reached through their table, and only the reconciler adds and drops them."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from migrations import roles
from shared.db import with_driver
from tests.support.event_days import partitions


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
