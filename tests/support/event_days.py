"""``job_events`` as it is after weeks: a partition for each of the days before today."""

from __future__ import annotations

from sqlalchemy import Connection, text

_SPLIT = """
DO $$
DECLARE
    start timestamptz;
    part regclass;
BEGIN
    SET LOCAL timezone = 'UTC';
    FOR part IN  -- the first, and days that were added since the database was made
        SELECT inhrelid::regclass FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'job_events'::regclass AND pg_get_expr(relpartbound, inhrelid) <> 'DEFAULT'
    LOOP
        EXECUTE format('ALTER TABLE job_events DETACH PARTITION %s', part);
        EXECUTE format('DROP TABLE %s', part);
    END LOOP;
    FOR number IN -{days} .. 1 LOOP
        start := date_trunc('day', statement_timestamp()) + number * interval '1 day';
        EXECUTE format('CREATE TABLE %I (LIKE job_events INCLUDING ALL)', 'job_events_' || to_char(start, 'YYYYMMDD'));
        EXECUTE format('ALTER TABLE job_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            'job_events_' || to_char(start, 'YYYYMMDD'), job_id_at(start), job_id_at(start + interval '1 day'));
    END LOOP;
END $$
"""


def split_into_days(connection: Connection, days: int) -> None:
    """Days before today that have a partition, in place of the empty ones; as the owner of the tables."""
    connection.execute(text(_SPLIT.format(days=days)))


def id_on(connection: Connection, days_ago: float, number: int = 0) -> str:
    """Return the id of a job that was submitted that number of days before noon of today (UTC)."""
    statement = text(
        "SELECT job_id_at(date_trunc('day', statement_timestamp(), 'UTC') + interval '12 hours'"
        " - make_interval(secs => :seconds)) || '-7000-8000-' || lpad(CAST(:number AS text), 12, '0')"
    )
    return str(connection.execute(statement, {"seconds": days_ago * 86400, "number": number}).scalar_one())


def partition_on(connection: Connection, days_ago: int) -> str:
    """The name of a day's partition."""
    statement = text(
        "SELECT 'job_events_' || to_char((statement_timestamp() - make_interval(hours => 24 * :days)) AT TIME ZONE"
        " 'UTC', 'YYYYMMDD')"
    )
    return str(connection.execute(statement, {"days": days_ago}).scalar_one())


def partitions(connection: Connection) -> set[str]:
    listed = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'job_events'::regclass")
    return set(connection.scalars(listed))
