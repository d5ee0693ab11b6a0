"""Keep which runs of a job ended with a silent worker, and which of those workers came back.

A version before this one counts every silent worker as a crash.
"""

from __future__ import annotations

from alembic import op

from migrations.locks import exclusively

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(exclusively("jobs"))
    op.execute("ALTER TABLE jobs ADD COLUMN silences bigint[] NOT NULL DEFAULT '{}'")
    op.execute("ALTER TABLE jobs ADD COLUMN condemned_until timestamptz")
    op.execute("CREATE INDEX ix_jobs_condemned ON jobs (condemned_until) WHERE condemned_until IS NOT NULL")


def downgrade() -> None:
    raise RuntimeError("there is no way back: restore the backup that was made before the upgrade")
