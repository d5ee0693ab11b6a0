"""Notes of the versions of definitions: why each was made. The previous version of the code knows none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("stack_definitions", sa.Column("note", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("stack_definitions", "note")
