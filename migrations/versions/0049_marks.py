"""job_marks: what the list of jobs may be asked for, each with its jobs in order; and no index on a job's lease.

- Triggers keep the marks, so that the version before keeps them too. They stand before the old rows are marked: a job
  that is submitted meanwhile has them from its trigger.
- A heartbeat changes ``lease_until`` alone, which no index has from now on: it then changes no index at all (HOT).
  The few running jobs are found by ``ix_jobs_running``; the statements of the version before find them by it too.
- ``ix_jobs_heads`` and ``ix_jobs_waiting`` are written so that no other statement can take them: a submit that counts
  the jobs of its tenant went through those of all tenants by ``ix_jobs_oldest``, when statistics were those of an
  empty table.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.marks import BACKFILL, FUNCTIONS, TRIGGERS
from migrations.turns import CLAIM, HEADS, PLACES, TO_CLAIM

revision = "0049"
down_revision = "0053"
branch_labels = None
depends_on = None

#: Of a column that has one value now, as where every job has succeeded, a generic plan would expect every row.
_DISTINCT = {"kind": 20, "state": 20, "tenant_id": 1000}
_WAITING = "CASE state WHEN 'queued' THEN true END"


def upgrade() -> None:
    op.create_table(
        "job_marks",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "mark", "created_at", "job_id", name=op.f("pk_job_marks")),
    )
    op.create_index("ix_job_marks_job", "job_marks", ["job_id"])
    for function in FUNCTIONS:
        op.execute(function)
    for name, trigger in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {trigger}")
    for statement in BACKFILL:
        op.execute(statement)
    op.drop_index("ix_jobs_lease", "jobs")
    _index("ix_jobs_heads", HEADS)
    for function in (TO_CLAIM, CLAIM, PLACES):
        op.execute(function)
    op.drop_index("ix_jobs_ready", "jobs")
    op.create_index("ix_jobs_waiting", "jobs", ["kind", "created_at"], postgresql_where=sa.text(_WAITING))
    op.drop_index("ix_jobs_oldest", "jobs")
    for column, distinct in _DISTINCT.items():
        op.execute(f"ALTER TABLE jobs ALTER COLUMN {column} SET (n_distinct = {distinct})")


def _index(name: str, where: str) -> None:
    columns = ("kind", "tenant_id", "priority DESC", "id")
    op.create_index(name, "jobs", [sa.text(column) for column in columns], postgresql_where=sa.text(where))


def downgrade() -> None:
    for column in _DISTINCT:
        op.execute(f"ALTER TABLE jobs ALTER COLUMN {column} RESET (n_distinct)")
    op.execute("DROP FUNCTION job_places")
    _index("ix_jobs_ready", "state = 'queued' AND head")
    op.drop_index("ix_jobs_heads", "jobs")
    op.create_index("ix_jobs_oldest", "jobs", ["kind", "created_at"], postgresql_where=sa.text("state = 'queued'"))
    op.drop_index("ix_jobs_waiting", "jobs")
    op.create_index("ix_jobs_lease", "jobs", ["lease_until"], postgresql_where=sa.text("state = 'running'"))
    for name in TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON {'llm_calls' if name == 'llm_called' else 'jobs'}")
    op.execute("DROP FUNCTION jobs_labelled, jobs_failed, llm_called, jobs_unmarked, jobs_truncated")
    op.drop_table("job_marks")
    op.execute("DROP FUNCTION job_mark")
