"""A mark for jobs with warnings, so that the list of them is looked up and not looked for.

``migrations.marks_online`` has done it all beforehand, while everything ran; without that it is done here. The trigger
stands before the old rows are marked, and marks what the version before writes as well.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from migrations.locks import exclusively
from migrations.marks import WARNED_BACKFILL, WARNED_FUNCTION, WARNED_TRIGGER

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = op.get_bind().execute(text("SELECT 1 FROM pg_trigger WHERE tgname = 'jobs_warned'"))
    if there.one_or_none() is not None:
        return
    op.execute(exclusively("jobs"))
    for statement in (WARNED_FUNCTION, WARNED_TRIGGER, WARNED_BACKFILL):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TRIGGER jobs_warned ON jobs")
    op.execute("DROP FUNCTION jobs_warned")
    op.execute("DELETE FROM job_marks WHERE mark = job_mark('warned', '')")
