"""The tables of flows: the current state of each, every version's operations, the history, snapshots, proposals."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
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


def _of_flow() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["flow_id", "tenant_id"], ["flows.id", "flows.tenant_id"], ondelete="CASCADE")


def _operations(name: str) -> Column[object]:
    return Column(name, LargeBinary, nullable=False)  # see shared.flows.encoding


flows = Table(
    "flows",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
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
    Column("flow_id", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    _of_flow(),
    Column("kind", Text, CheckConstraint("kind IN ('create', 'change', 'undo', 'redo')", name="kind"), nullable=False),
    Column("actor", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("name", Text),  # a named version is kept with a snapshot
    _operations("operations"),  # from the version before
    _time("at"),
)

snapshots = Table(
    "flow_snapshots",
    metadata,
    Column("flow_id", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    _of_flow(),
    Column("document", LargeBinary, nullable=False),
)

change_sets = Table(
    "flow_change_sets",
    metadata,
    Column("flow_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),  # the order of the history, without relying on any clock
    Column("tenant_id", Text, primary_key=True),
    _of_flow(),
    Column("version", BigInteger, nullable=False),
    Column("base_version", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("moves_only", Boolean, nullable=False),  # nothing but positions: the next drag of the same nodes may join
    Column("undone_at", BigInteger),  # the version that undid it; null while it is applied
    Column("cut", Boolean, nullable=False, server_default="false"),  # others edited since: only its author may redo it
    _operations("forward"),
    _operations("inverse"),
    _time("at"),
)

proposals = Table(
    "flow_proposals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("flow_id", Text, nullable=False),
    _of_flow(),
    Column("base_version", BigInteger, nullable=False),
    Column("state", Text, CheckConstraint("state IN ('open', 'applied', 'discarded')", name="state"), nullable=False),
    Column("actor", Text, nullable=False),
    Column("summary", Text, nullable=False),
    _operations("forward"),
    _time("created_at"),
    Index(None, "flow_id", "created_at"),
)
