"""Runs the migrations against ``DATABASE_URL``, or on the connection that the caller puts into the configuration."""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import Connection

import migrations.tables  # noqa: F401 - every table registers itself on the metadata
from shared.db import connect, metadata

#: Two processes that migrate at once take turns.
_LOCK = 0x41535341


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, compare_server_default=False)
    with context.begin_transaction():
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    engine = connect(os.environ["DATABASE_URL"])
    with engine.connect() as connection:
        _run(connection)
    engine.dispose()
