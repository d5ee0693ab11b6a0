"""stacks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.create_table(
        "stack_definitions",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("yaml", sa.Text(), nullable=False),
        sa.Column("definitions", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "version", name=op.f("pk_stack_definitions")),
    )
    op.create_table(
        "stack_sightings",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("resembles", sa.Text(), nullable=True),
        sa.Column("files", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_stack_sightings_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "id", "job_id", "root", name=op.f("pk_stack_sightings")),
    )
    op.create_index(op.f("ix_stack_sightings_job_id"), "stack_sightings", ["job_id"], unique=False)
    op.create_table(
        "stack_decisions",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.CheckConstraint("state IN ('promoted', 'dismissed')", name=op.f("ck_stack_decisions_state")),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "id", name=op.f("pk_stack_decisions")),
    )
    op.create_table(
        "stack_results",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("warnings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_stack_results_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "identity", name=op.f("pk_stack_results")),
    )
    op.create_index(op.f("ix_stack_results_job_id"), "stack_results", ["job_id"], unique=False)
    op.create_index(
        op.f("ix_stack_results_tenant_id_created_at"), "stack_results", ["tenant_id", "created_at"], unique=False
    )


def downgrade() -> None:
    op.drop_table("stack_results")
    op.drop_table("stack_decisions")
    op.drop_table("stack_sightings")
    op.drop_table("stack_definitions")
