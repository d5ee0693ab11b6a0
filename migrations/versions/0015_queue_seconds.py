"""llm_calls.queue_seconds: how long a call waited for a slot. The previous version of the code leaves it empty."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("llm_calls", sa.Column("queue_seconds", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("llm_calls", "queue_seconds")
