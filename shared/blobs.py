"""File contents by their hash, in a store by URL; who owns which is in Postgres."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text, text

from shared.db import metadata

_NOW = text("clock_timestamp()")

files = Table(
    "files",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("job_id", Text),  # the job that made it; null for an upload
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("ix_files_sha256", files.c.sha256)
Index("ix_files_job_id", files.c.job_id, postgresql_where=text("job_id IS NOT NULL"))

blobs = Table(
    "blobs",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    # Renewed by every upload of the same bytes: the collector leaves a blob alone for an hour after.
    Column("touched_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
