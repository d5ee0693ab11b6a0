"""The baseline: the whole schema, as 60 revisions before the first release had made it."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0060"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    script = (Path(__file__).parents[1] / "baseline.sql").read_bytes()
    op.get_bind().connection.cursor().execute(script)


def downgrade() -> None:
    raise RuntimeError("nothing comes before the baseline: drop the database instead")
