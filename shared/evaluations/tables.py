"""The tables of evaluations: planned runs and their outcomes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.db import metadata

_NOW = text("clock_timestamp()")

evaluations = Table(
    "evaluations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, nullable=False),  # of the suite
    Column("suite", JSONB, nullable=False),
    Column("variants", JSONB, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("budget", JSONB, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", Text, nullable=False, server_default="running"),
    Column("open", Boolean, nullable=False, server_default=text("true")),  # there is something left to do
    Column("actor", Text, nullable=False),
    Column("request_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("finished_at", DateTime(timezone=True)),
    Column("shadow_id", Text),  # whose comparison it is
    Column("grows", Boolean, nullable=False, server_default=text("false")),  # its shadow may add cases
    CheckConstraint("state IN ('running', 'finished', 'cancelled', 'budget_spent')", name="state"),
)
Index("ix_evaluations_shadow", evaluations.c.shadow_id, postgresql_where=text("shadow_id IS NOT NULL"))
Index("ix_evaluations_list", evaluations.c.tenant_id, evaluations.c.created_at.desc(), evaluations.c.id.desc())
Index("ix_evaluations_open", evaluations.c.created_at, postgresql_where=text("open"))

evaluation_runs = Table(
    "evaluation_runs",
    metadata,
    Column("evaluation_id", Text, primary_key=True),
    Column("repetition", Integer, primary_key=True),
    Column("case_number", Integer, primary_key=True),
    Column("variant_number", Integer, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("job_id", Text),  # stays when the job is deleted
    Column("success", Boolean),
    Column("cause", Text),
    Column("detail", Text),
    Column("turns", Integer),
    Column("tokens", BigInteger),
    Column("cost_usd", Double),
    Column("seconds", Double),
    CheckConstraint("state IN ('pending', 'running', 'finished', 'skipped')", name="state"),
    ForeignKeyConstraint(
        ["evaluation_id", "tenant_id"], ["evaluations.id", "evaluations.tenant_id"], ondelete="CASCADE"
    ),
)

shadows = Table(
    "shadows",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("model", Text),
    Column("prompt", Text),  # key@version
    Column("share", Double, nullable=False),
    Column("tokens_per_day", BigInteger, nullable=False),
    Column("state", Text, nullable=False, server_default="running"),
    Column(
        "seen_at", DateTime(timezone=True), nullable=False, server_default=_NOW
    ),  # jobs up to this one were inspected
    Column("seen_id", Text, nullable=False, server_default=""),
    Column("waiting", JSONB, nullable=False, server_default="[]"),  # chosen jobs that have not ended
    Column("passed_over", JSONB, nullable=False, server_default="{}"),  # chosen jobs without a case, by cause
    Column("actor", Text, nullable=False),
    Column("request_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    Column("stopped_at", DateTime(timezone=True)),
    CheckConstraint("state IN ('running', 'stopped')", name="state"),
)
Index("ix_shadows_list", shadows.c.tenant_id, shadows.c.created_at.desc(), shadows.c.id.desc())
Index("ix_shadows_running", shadows.c.id, postgresql_where=text("state = 'running'"))
