"""model_vendors: what operators have set of the vendors' rows. The previous version of the code does not know it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_vendors",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", JSONB(), nullable=False),
        sa.Column("facts", JSONB(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_model_vendors")),
    )


def downgrade() -> None:
    op.drop_table("model_vendors")
