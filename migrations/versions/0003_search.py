"""search."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "collections",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tables", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("embedding", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collections")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_collections_tenant_id_name")),
    )
    op.create_table(
        "dropped_collections",
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column(
            "dropped_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("collection_id", name=op.f("pk_dropped_collections")),
    )
    op.create_table(
        "collection_tables",
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("thresholds", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("fk_collection_tables_collection_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "name", name=op.f("pk_collection_tables")),
    )
    op.create_table(
        "search_rewrites",
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("wording_sha256", sa.Text(), nullable=False),
        sa.Column("wording", sa.Text(), nullable=False),
        sa.Column("rewritten", sa.Text(), nullable=False),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name=op.f("fk_search_rewrites_collection_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "name", "wording_sha256", name=op.f("pk_search_rewrites")),
    )
    op.create_table(
        "search_attempts",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("collection_id", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("user_message", sa.Text(), nullable=False),
        sa.Column("queries", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("gain", sa.Integer(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_search_attempts_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_search_attempts")),
    )
    op.create_index(op.f("ix_search_attempts_collection_id"), "search_attempts", ["collection_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_search_attempts_collection_id"), table_name="search_attempts")
    op.drop_table("search_attempts")
    op.drop_table("search_rewrites")
    op.drop_table("collection_tables")
    op.drop_table("dropped_collections")
    op.drop_table("collections")
