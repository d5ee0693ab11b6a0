"""Texts of model calls, and notes of prompt versions. The previous version of the code knows neither."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0046"
branch_labels = None
depends_on = None

_NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.add_column("prompt_versions", sa.Column("note", sa.Text(), nullable=True))
    op.create_table(
        "llm_texts",
        sa.Column("call_id", sa.BigInteger(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["call_id"], ["llm_calls.id"], name=op.f("fk_llm_texts_call_id_llm_calls"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("call_id", name=op.f("pk_llm_texts")),
    )
    op.create_index(op.f("ix_llm_texts_at"), "llm_texts", ["at"])


def downgrade() -> None:
    op.drop_table("llm_texts")
    op.drop_column("prompt_versions", "note")
