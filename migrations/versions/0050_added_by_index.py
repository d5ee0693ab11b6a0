"""jobs_added finds what a new job waits for in the order of one index, whatever is estimated of the table."""

from __future__ import annotations

from alembic import op

from migrations.turns import ADDED

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(ADDED)


def downgrade() -> None:
    """The function does the same as before, whatever else is taken back."""
