"""Secrets of webhooks for each tenant, and an index that finds each tenant's due webhooks.

The previous version of the code finds due webhooks by the new index too, only not in order.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_PENDING = sa.text("webhook IS NOT NULL AND NOT webhook_done AND finished_at IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "webhook_secrets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.CheckConstraint("place IN (1, 2)", name=op.f("ck_webhook_secrets_place")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_secrets")),
        sa.UniqueConstraint("tenant_id", "place", name=op.f("uq_webhook_secrets_tenant_id_place")),
    )
    op.create_index(
        "ix_jobs_webhook_due",
        "jobs",
        ["tenant_id", sa.text("coalesce(webhook_due_at, finished_at)")],
        postgresql_where=_PENDING,
    )
    op.drop_index("ix_jobs_webhook", table_name="jobs")


def downgrade() -> None:
    op.create_index("ix_jobs_webhook", "jobs", ["finished_at"], postgresql_where=_PENDING)
    op.drop_index("ix_jobs_webhook_due", table_name="jobs")
    op.drop_table("webhook_secrets")
