"""The tables of flows: the current state of each, every version's operations, the history, snapshots, proposals."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.db import metadata


def _time(name: str, *, nullable: bool = False) -> Column[object]:
    default = None if nullable else text("clock_timestamp()")
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default)


def _flow_id() -> Column[object]:
    return Column("flow_id", Text, ForeignKey("flows.id", ondelete="CASCADE"), primary_key=True)


def _operations(name: str) -> Column[object]:
    return Column(name, LargeBinary, nullable=False)  # see shared.flows.encoding


flows = Table(
    "flows",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("nodes_count", Integer, nullable=False),
    Column("edges_count", Integer, nullable=False),
    Column("snapshot_version", BigInteger, nullable=False),  # the newest snapshot
    Column("snapshot_bytes", BigInteger, nullable=False),
    Column("tail_bytes", BigInteger, nullable=False, server_default="0"),  # operations written since
    Column("notes", JSONB),
    Column("conversation_id", Text),  # of the messages that the compatibility routes take
    _time("created_at"),
    _time("updated_at"),
    postgresql_with={"fillfactor": "80"},
)
Index("ix_flows_list", flows.c.tenant_id, flows.c.created_at.desc(), flows.c.id.desc())
Index("ix_flows_conversation", flows.c.conversation_id)
Index("ix_flows_name", flows.c.tenant_id, flows.c.name, flows.c.created_at)

versions = Table(
    "flow_versions",
    metadata,
    _flow_id(),
    Column("version", BigInteger, primary_key=True),
    Column("kind", Text, CheckConstraint("kind IN ('create', 'change', 'undo', 'redo')", name="kind"), nullable=False),
    Column("actor", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("name", Text),  # a version that somebody named is kept with a snapshot
    _operations("operations"),  # from the version before
    _time("at"),
)

snapshots = Table(
    "flow_snapshots",
    metadata,
    _flow_id(),
    Column("version", BigInteger, primary_key=True),
    Column("document", LargeBinary, nullable=False),
)

change_sets = Table(
    "flow_change_sets",
    metadata,
    _flow_id(),
    Column("seq", BigInteger, primary_key=True),  # the order of the history, without relying on any clock
    Column("version", BigInteger, nullable=False),
    Column("base_version", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("moves_only", Boolean, nullable=False),  # nothing but positions: the next drag of the same nodes may join
    Column("undone_at", BigInteger),  # the version that undid it; null while it is applied
    _operations("forward"),
    _operations("inverse"),
    _time("at"),
)

proposals = Table(
    "flow_proposals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("flow_id", Text, ForeignKey("flows.id", ondelete="CASCADE"), nullable=False),
    Column("base_version", BigInteger, nullable=False),
    Column("state", Text, CheckConstraint("state IN ('open', 'applied', 'discarded')", name="state"), nullable=False),
    Column("actor", Text, nullable=False),
    Column("summary", Text, nullable=False),
    _operations("forward"),
    _time("created_at"),
    Index(None, "flow_id", "created_at"),
)
