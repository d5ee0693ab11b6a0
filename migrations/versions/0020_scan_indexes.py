"""Indexes for what scanned tables: conversations at retention and replay, lists by state and kind, uploads by age."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0016"
branch_labels = None
depends_on = None

_NEWEST: list[str | sa.TextClause | sa.ColumnElement[object]] = [
    sa.literal_column("created_at DESC"),
    sa.literal_column("id DESC"),
]


def upgrade() -> None:
    op.create_index("ix_jobs_of_conversation", "jobs", ["conversation_id", "id"])
    op.create_index("ix_jobs_list_state", "jobs", ["tenant_id", "state", *_NEWEST])
    op.create_index("ix_jobs_list_kind", "jobs", ["tenant_id", "kind", "state", *_NEWEST])
    op.create_index("ix_jobs_replays", "jobs", ["replayed_from"], postgresql_where=sa.text("replayed_from IS NOT NULL"))
    op.create_index("ix_files_uploaded", "files", ["created_at"], postgresql_where=sa.text("job_id IS NULL"))
    op.create_index("ix_flows_conversation", "flows", ["conversation_id"])


def downgrade() -> None:
    op.drop_index("ix_flows_conversation", "flows")
    op.drop_index("ix_files_uploaded", "files")
    for index in ("replays", "list_kind", "list_state", "of_conversation"):
        op.drop_index(f"ix_jobs_{index}", "jobs")
