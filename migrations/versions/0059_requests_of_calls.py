"""Which request each attempt in llm_calls is of. The version before writes none; of its rows the order tells it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.locks import exclusively

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(exclusively("llm_calls"))
    op.add_column("llm_calls", sa.Column("request", sa.Uuid(), nullable=True))


def downgrade() -> None:
    op.drop_column("llm_calls", "request")
