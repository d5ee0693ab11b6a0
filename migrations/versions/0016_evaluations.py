"""evaluations and their runs. The previous version of the code does not know them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0016"
down_revision = "0017"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.create_table(
        "evaluations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("suite", JSONB(), nullable=False),
        sa.Column("variants", JSONB(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("budget", JSONB(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column("open", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'finished', 'cancelled', 'budget_spent')", name=op.f("ck_evaluations_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
    )
    op.create_index("ix_evaluations_list", "evaluations", ["tenant_id", sa.text("created_at DESC"), sa.text("id DESC")])
    op.create_index("ix_evaluations_open", "evaluations", ["created_at"], postgresql_where=sa.text("open"))
    op.create_table(
        "evaluation_runs",
        sa.Column("evaluation_id", sa.Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("case_number", sa.Integer(), nullable=False),
        sa.Column("variant_number", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost_usd", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'finished', 'skipped')", name=op.f("ck_evaluation_runs_state")
        ),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_evaluation_runs_evaluation_id_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "repetition", "case_number", "variant_number", name=op.f("pk_evaluation_runs")
        ),
    )


def downgrade() -> None:
    op.drop_table("evaluation_runs")
    op.drop_table("evaluations")
