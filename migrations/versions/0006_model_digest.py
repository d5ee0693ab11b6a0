"""jobs.model_digest: of the secret with which a run asks the broker of models (expand).

The previous version of the code neither reads nor writes it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("model_digest", sa.Text, nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "model_digest")
