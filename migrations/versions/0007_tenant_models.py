"""tenant_models: which models a tenant may use (expand). The previous version of the code does not know it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tenant_models",
        sa.Column("tenant_id", sa.Text, primary_key=True),
        sa.Column("allowed", JSONB, nullable=False),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("clock_timestamp()")
        ),
        sa.Column("actor", sa.Text),
    )


def downgrade() -> None:
    op.drop_table("tenant_models")
