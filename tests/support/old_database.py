"""A database as an earlier version of the code left it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from shared.db import connect


@contextmanager
def old_database(server: Postgres, revision: str) -> Iterator[str]:
    """The URL of a new database at this revision; it is dropped in the end."""
    name = f"test_{uuid.uuid4().hex}"
    admin = connect(server.url_of("postgres")).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}" TEMPLATE template0')
    url = server.url_of(name)
    upgrade(url, revision)
    try:
        yield url
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')
        admin.dispose()
