"""claim_jobs claims several jobs at once; claim_job is what the version before calls."""

from __future__ import annotations

from alembic import op

from migrations.turns import CLAIM_SOME, SOME_TO_CLAIM

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(SOME_TO_CLAIM)
    op.execute(CLAIM_SOME)


def downgrade() -> None:
    op.execute("DROP FUNCTION claim_jobs, jobs_to_claim")
