"""sessions: keys that are made with a key and end with it, and one-time codes that sign in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("parent_id", sa.Text(), nullable=True))
    op.create_table(
        "session_codes",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_session_codes")),
    )


def downgrade() -> None:
    op.drop_table("session_codes")
    op.drop_column("api_keys", "parent_id")
