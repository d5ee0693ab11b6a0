"""job_events in a partition for each day of the job's id, so that retention drops days instead of deleting rows.

- The table of before becomes the first partition as it is; nothing is copied. ``migrations.online`` has had its rows
  looked through beforehand, while everything ran; without that, as of an empty database, it is read here.
- Ids that are no UUIDv7, or of a day that nobody has added, go to a default partition: no insert fails.
- A trigger takes the place of the foreign key, so that events still go with their job when the version before deletes
  it, and stay for the drop when the retention of this one says so.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

from alembic import op

from migrations.locks import exclusively
from migrations.partitions import AHEAD, BEFORE, CALLED, DROPPED_WITH_THEM, FUNCTIONS, TRIGGERS

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

_LOCK = exclusively("jobs", "job_events")
_FIRST = f"""
DO $$
DECLARE
    looked_through text;
    past text;
BEGIN
    SELECT conname INTO looked_through FROM pg_constraint
    WHERE conrelid = 'job_events_first'::regclass AND starts_with(conname, '{BEFORE}') AND convalidated;
    past := job_id_at(coalesce(to_date(right(looked_through, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC',
                               date_trunc('day', statement_timestamp(), 'UTC') + interval '2 days'));
    IF looked_through IS NULL THEN
        WITH later AS (DELETE FROM job_events_first WHERE job_id >= past RETURNING *)
        INSERT INTO job_events_default SELECT * FROM later;
    END IF;
    EXECUTE format('ALTER TABLE job_events ATTACH PARTITION job_events_first FOR VALUES FROM (MINVALUE) TO (%L)', past);
    FOR looked_through IN
        SELECT conname FROM pg_constraint
        WHERE conrelid = 'job_events_first'::regclass AND starts_with(conname, '{BEFORE}')
    LOOP
        EXECUTE format('ALTER TABLE job_events_first DROP CONSTRAINT %I', looked_through);
    END LOOP;
END $$
"""
_PLAIN = """
    CREATE TABLE job_events_plain (LIKE job_events INCLUDING DEFAULTS);
    INSERT INTO job_events_plain SELECT * FROM job_events e WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.id = e.job_id);
    DROP TABLE job_events;
    ALTER TABLE job_events_plain RENAME TO job_events;
    ALTER TABLE job_events ADD CONSTRAINT pk_job_events PRIMARY KEY (job_id, seq);
    ALTER TABLE job_events ADD CONSTRAINT fk_job_events_job_id
        FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE
"""


def upgrade() -> None:
    op.execute(_LOCK)
    op.drop_constraint("fk_job_events_job_id", "job_events", type_="foreignkey")
    op.execute("ALTER TABLE job_events RENAME TO job_events_first")
    op.execute("ALTER INDEX pk_job_events RENAME TO pk_job_events_first")
    op.execute("CREATE TABLE job_events (LIKE job_events_first INCLUDING DEFAULTS) PARTITION BY RANGE (job_id)")
    op.create_primary_key("pk_job_events", "job_events", ["job_id", "seq"])
    op.execute("CREATE TABLE job_events_default PARTITION OF job_events DEFAULT")
    for function in FUNCTIONS:
        op.execute(function)
    for function in CALLED:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    for name, trigger in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {trigger}")
    op.execute(_FIRST)
    op.execute(f"SELECT assay_add_event_days({AHEAD})")


def downgrade() -> None:
    op.execute(_LOCK)
    for name in TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON jobs")
    op.execute(f"DROP FUNCTION {', '.join(TRIGGERS)}, {DROPPED_WITH_THEM}")
    for statement in _PLAIN.split(";"):
        op.execute(statement)
