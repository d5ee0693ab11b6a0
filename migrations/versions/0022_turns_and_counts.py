"""Turns, heads of conversations, and counts: what a claim and an admission had to find out by looking at every job.

Triggers keep them, so that the version before, which knows none of them, keeps them as well while both run.

- ``jobs.head``: of a conversation's queued and running jobs, the one that may run. The end of one promotes the next.
- ``job_turns``: who is next of a kind. ``ready`` is true while the tenant may have a job to claim; it is set by
  whoever queues one and cleared by a claim that finds none.
- ``job_deltas``: what each statement changed of the queued and running jobs; the reconciler adds them to
  ``job_counts``. Nobody waits for anybody's row, as rows that are counted up would make them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.turns import FUNCTIONS, TRIGGERS

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_BACKFILL = (
    """
    UPDATE jobs SET head = false WHERE state = 'queued' AND id <> (
        SELECT e.id FROM jobs e WHERE e.conversation_id = jobs.conversation_id AND e.state IN ('queued', 'running')
        ORDER BY e.state DESC, e.id LIMIT 1)
    """,
    """
    INSERT INTO job_turns (kind, tenant_id)
    SELECT DISTINCT kind, tenant_id FROM jobs WHERE state = 'queued'
    """,
    """
    INSERT INTO job_deltas (kind, tenant_id, queued, running)
    SELECT kind, tenant_id, count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'running')
    FROM jobs WHERE state IN ('queued', 'running') GROUP BY kind, tenant_id
    """,
)
_CHURN = {"autovacuum_vacuum_scale_factor": "0.02", "autovacuum_vacuum_threshold": "500"}


def upgrade() -> None:
    op.add_column("jobs", sa.Column("head", sa.Boolean(), server_default=sa.text("true"), nullable=False))
    op.add_column("tenant_limits", sa.Column("weight", sa.BigInteger(), nullable=True))
    op.create_table(
        "job_turns",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Double(), server_default="0", nullable=False),
        sa.Column("ready", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("kind", "tenant_id", name=op.f("pk_job_turns")),
        postgresql_with={"fillfactor": "70", **_CHURN},
    )
    op.create_table(
        "job_counts",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("queued", sa.BigInteger(), nullable=False),
        sa.Column("running", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "kind", name=op.f("pk_job_counts")),
        postgresql_with={"fillfactor": "50", **_CHURN},
    )
    op.create_table(
        "job_deltas",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("queued", sa.BigInteger(), nullable=False),
        sa.Column("running", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_deltas")),
        postgresql_with=_CHURN,
    )
    for statement in _BACKFILL:
        op.execute(statement)
    op.create_index("ix_job_turns_next", "job_turns", ["kind", "turn", "tenant_id"], postgresql_where=sa.text("ready"))
    op.create_index("ix_job_turns_last", "job_turns", ["kind", "turn"])
    op.create_index(
        "ix_jobs_ready",
        "jobs",
        ["kind", "tenant_id", sa.literal_column("priority DESC"), "id"],
        postgresql_where=sa.text("state = 'queued' AND head"),
    )
    op.create_index(
        "ix_jobs_running",
        "jobs",
        ["tenant_id", "conversation_id", "kind"],
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("ix_jobs_oldest", "jobs", ["kind", "created_at"], postgresql_where=sa.text("state = 'queued'"))
    for statement in (*FUNCTIONS, *TRIGGERS):
        op.execute(statement)
    for setting in ("autovacuum_vacuum_scale_factor = 0.02", "autovacuum_analyze_scale_factor = 0.02"):
        op.execute(f"ALTER TABLE jobs SET ({setting})")


def downgrade() -> None:
    for trigger in ("jobs_added", "jobs_moved", "jobs_removed", "jobs_emptied"):
        op.execute(f"DROP TRIGGER {trigger} ON jobs")
    op.execute("DROP FUNCTION claim_job, job_to_claim, jobs_added, jobs_moved, jobs_removed, jobs_emptied")
    op.execute("DROP FUNCTION job_promote, job_ready")
    op.execute("ALTER TABLE jobs RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)")
    for index in ("oldest", "running", "ready"):
        op.drop_index(f"ix_jobs_{index}", "jobs")
    for table in ("job_deltas", "job_counts", "job_turns"):
        op.drop_table(table)
    op.drop_column("tenant_limits", "weight")
    op.drop_column("jobs", "head")
