"""jobs.suspect and jobs.alone: whose crash it was. The previous version of the code leaves both at false."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("suspect", "alone"):
        op.add_column("jobs", sa.Column(name, sa.Boolean(), server_default=sa.text("false"), nullable=False))


def downgrade() -> None:
    for name in ("alone", "suspect"):
        op.drop_column("jobs", name)
