"""Limits of a tenant, and an index of its files (expand)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_QUOTAS = ("queued_jobs", "running_jobs", "storage_bytes", "streams", "tokens_per_day", "requests_per_minute")


def upgrade() -> None:
    op.create_table(
        "tenant_limits",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=True) for name in _QUOTAS),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("updated_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_tenant_limits")),
    )
    op.create_index("ix_files_tenant_id", "files", ["tenant_id", "created_at", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_files_tenant_id", table_name="files")
    op.drop_table("tenant_limits")
