"""shadows, and evaluations that grow by their cases. The previous version of the code knows neither."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("shadow_id", sa.Text(), nullable=True))
    op.add_column("evaluations", sa.Column("grows", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.create_index(
        "ix_evaluations_shadow", "evaluations", ["shadow_id"], postgresql_where=sa.text("shadow_id IS NOT NULL")
    )
    op.create_table(
        "shadows",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("prompt", sa.Text(), nullable=True),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("tokens_per_day", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("seen_id", sa.Text(), server_default="", nullable=False),
        sa.Column("waiting", JSONB(), server_default="[]", nullable=False),
        sa.Column("passed_over", JSONB(), server_default="{}", nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('running', 'stopped')", name=op.f("ck_shadows_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shadows")),
    )
    op.create_index("ix_shadows_list", "shadows", ["tenant_id", sa.text("created_at DESC"), sa.text("id DESC")])
    op.create_index("ix_shadows_running", "shadows", ["id"], postgresql_where=sa.text("state = 'running'"))


def downgrade() -> None:
    op.drop_table("shadows")
    op.drop_index("ix_evaluations_shadow", "evaluations")
    op.drop_column("evaluations", "grows")
    op.drop_column("evaluations", "shadow_id")
