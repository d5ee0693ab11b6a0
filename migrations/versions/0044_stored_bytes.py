"""jobs.stored_bytes: inputs and results count as storage; and a large cap of running jobs is held without a lock.

The previous version of the code leaves the column at 0, and its claims work with either function.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.turns import CLAIM

revision = "0044"
down_revision = "0038"
branch_labels = None
depends_on = None

_LOCKED = "IF coalesce(most, cap) > 0 THEN"
#: Claims of one tenant wait for each other where the cap is small. A large one keeps a tenant from taking everything:
#: claims of the same moment may pass it, each by one job, and need not wait.
_LOCKED_IF_SMALL = "IF coalesce(most, cap) BETWEEN 1 AND 32 THEN"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("stored_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index(
        "ix_jobs_stored",
        "jobs",
        ["tenant_id"],
        postgresql_include=["stored_bytes"],
        postgresql_where=sa.text("stored_bytes >= 1024"),
    )
    op.execute(_replacing(CLAIM.replace(_LOCKED, _LOCKED_IF_SMALL)))


def downgrade() -> None:
    op.execute(_replacing(CLAIM))
    op.drop_index("ix_jobs_stored", "jobs")
    op.drop_column("jobs", "stored_bytes")


def _replacing(function: str) -> str:
    return function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
