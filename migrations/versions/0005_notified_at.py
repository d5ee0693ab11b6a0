"""jobs.rung_at becomes jobs.notified_at (expand).

The previous version of the code reads and writes ``rung_at``, this one ``notified_at``. While both run, a trigger
copies whichever of the two a statement wrote to the other. The contract step, a revision of the release after this one
(0006 or later), drops the trigger, its function and ``rung_at`` (and its line in ``migrations/env.py``).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_FUNCTION = """
CREATE FUNCTION jobs_copy_notified_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.notified_at := coalesce(NEW.notified_at, NEW.rung_at);
        NEW.rung_at := NEW.notified_at;
    ELSIF NEW.notified_at IS DISTINCT FROM OLD.notified_at THEN
        NEW.rung_at := NEW.notified_at;
    ELSE
        NEW.notified_at := NEW.rung_at;
    END IF;
    RETURN NEW;
END $$
"""
_TRIGGER = """
CREATE TRIGGER jobs_copy_notified_at BEFORE INSERT OR UPDATE OF rung_at, notified_at ON jobs
FOR EACH ROW EXECUTE FUNCTION jobs_copy_notified_at()
"""


def upgrade() -> None:
    op.add_column("jobs", sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True))
    # Of other states nobody reads it: a running job that is queued again loses it.
    op.execute("UPDATE jobs SET notified_at = rung_at WHERE state = 'queued'")
    op.execute(_FUNCTION)
    op.execute(_TRIGGER)


def downgrade() -> None:
    op.execute("DROP TRIGGER jobs_copy_notified_at ON jobs")
    op.execute("DROP FUNCTION jobs_copy_notified_at()")
    op.drop_column("jobs", "notified_at")
