"""Deletion of jobs by the gateway, and of whole tenants by the reconciler.

The function deletes as the owner of the tables, so that no service needs the right to delete everything. The previous
version of the code does not call it. Applying this revision also gives the gateway the right to delete jobs.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tenant_deletions",
        sa.Column("tenant", sa.Text(), nullable=False),  # not tenant_id: the row outlives all that has one
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_tenant_deletions")),
    )
    op.execute(
        """
        CREATE FUNCTION assay_delete_tenant(doomed text, most integer) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        DECLARE
            name text;
            removed bigint;
            total bigint := 0;
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM tenant_deletions WHERE tenant = doomed) THEN
                RAISE EXCEPTION 'the deletion of this tenant has not been requested';
            END IF;
            INSERT INTO dropped_collections (collection_id)
            SELECT id FROM collections WHERE tenant_id = doomed ON CONFLICT DO NOTHING;
            FOR name IN
                SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE a.attname = 'tenant_id' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
                  AND c.relname <> 'audit_log'
            LOOP
                BEGIN
                    EXECUTE format(
                        'DELETE FROM %I WHERE ctid = ANY(ARRAY(SELECT ctid FROM %I WHERE tenant_id = $1 LIMIT $2))',
                        name, name
                    ) USING doomed, most;
                    GET DIAGNOSTICS removed = ROW_COUNT;
                    total := total + removed;
                EXCEPTION WHEN foreign_key_violation THEN
                    total := total + 1;  -- what refers to it goes first: there is another round
                END;
            END LOOP;
            RETURN total;
        END $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION assay_delete_tenant(text, integer) FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION assay_delete_tenant(text, integer)")
    op.drop_table("tenant_deletions")
