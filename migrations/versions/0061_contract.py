"""Drop what only versions before the baseline used (contract).

The code of the baseline knows none of it: the column and the table that it replaced, the claim of single jobs, and what
gave rows their tenant when a statement did not.
"""

from __future__ import annotations

from alembic import op

from migrations.locks import exclusively

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

#: Tables whose rows once had no tenant, with the table that their triggers took it from.
_CHILDREN = {
    "collection_tables": "collections",
    "flow_change_sets": "flows",
    "flow_proposals": "flows",
    "flow_snapshots": "flows",
    "flow_versions": "flows",
    "job_events": "jobs",
    "job_forms": "jobs",
    "search_rewrites": "collections",
}


def upgrade() -> None:
    op.execute(exclusively("jobs", *_CHILDREN))
    op.execute("DROP TRIGGER jobs_copy_notified_at ON jobs")
    op.execute("DROP FUNCTION jobs_copy_notified_at, claim_job, job_to_claim")
    op.drop_column("jobs", "rung_at")
    op.drop_table("blobs")
    for table in _CHILDREN:
        op.execute(f"DROP TRIGGER tenant_of_parent ON {table}")
        op.alter_column(table, "tenant_id", server_default=None)
    for parent in sorted(set(_CHILDREN.values())):
        op.execute(f"DROP FUNCTION tenant_of_{parent}")
    for table in ("collection_tables", "search_rewrites"):
        op.drop_index(f"ux_{table}_before", table)


def downgrade() -> None:
    raise RuntimeError("there is no way back: restore the backup that was made before the upgrade")
