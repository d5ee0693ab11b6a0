"""Runs the migrations against ``DATABASE_URL``, or on the connection that the caller puts into the configuration."""

from __future__ import annotations

import os

from alembic import context
from sqlalchemy import Connection, Table
from sqlalchemy.sql.schema import SchemaItem

# Every package that has tables registers them on the metadata, which ``alembic check`` compares with the database.
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
import shared.stacks.tables  # noqa: F401
from shared.db import connect, metadata

#: Two processes that migrate at once take turns.
_LOCK = 0x41535341


def _declared(item: SchemaItem, name: str | None, type_: str, reflected: bool, compare_to: SchemaItem | None) -> bool:
    """Return whether ``alembic check`` expects the code to declare it."""
    # Partitions are not declared: there is another one each day.
    return not (isinstance(item, Table) and reflected and item.name.startswith("job_events_"))


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection, target_metadata=metadata, compare_server_default=False, include_object=_declared
    )
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
