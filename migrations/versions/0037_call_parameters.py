"""llm_calls.parameters: how a model was asked. The previous version of the code leaves it empty."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0037"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("llm_calls", sa.Column("parameters", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("llm_calls", "parameters")
