"""The tables of stack detection."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.db import metadata

_NOW = text("clock_timestamp()")

#: Every version of a tenant's set; the one with the largest number is in use.
stack_definitions = Table(
    "stack_definitions",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("yaml", Text, nullable=False),  # as the tenant wrote it
    Column("definitions", JSONB, nullable=False),  # as it was understood
    Column("actor", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("note", Text),  # why it was made, in a person's words
    PrimaryKeyConstraint("tenant_id", "version"),
)

#: A technology that a model named and no rule knows, once per job and package; it goes with its job.
stack_sightings = Table(
    "stack_sightings",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("root", Text, nullable=False),
    Column("source", Text, nullable=False),  # a hash: the same repository is one source however often it is read
    Column("name", Text, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("resembles", Text),
    Column("files", JSONB, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    PrimaryKeyConstraint("tenant_id", "kind", "id", "job_id", "root"),
    Index(None, "job_id"),
    ForeignKeyConstraint(["job_id", "tenant_id"], ["jobs.id", "jobs.tenant_id"], ondelete="CASCADE"),
)

#: Decisions about proposals; an undecided one has no row.
stack_decisions = Table(
    "stack_decisions",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("actor", Text),
    Column("at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    PrimaryKeyConstraint("tenant_id", "kind", "id"),
    CheckConstraint("state IN ('promoted', 'dismissed')", name="state"),
)

#: Which job's result answers a tree under a rule set; the result itself stays with its job, and goes with it.
stack_results = Table(
    "stack_results",
    metadata,
    Column("tenant_id", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("warnings", JSONB, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    PrimaryKeyConstraint("tenant_id", "identity"),
    Index(None, "job_id"),
    Index(None, "tenant_id", "created_at"),
    ForeignKeyConstraint(["job_id", "tenant_id"], ["jobs.id", "jobs.tenant_id"], ondelete="CASCADE"),
)
