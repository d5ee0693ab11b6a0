"""Statements about the partitions of ``job_events``; ``migrations/baseline.sql`` has the functions that they call."""

from __future__ import annotations

from sqlalchemy import TextClause

from shared.jobs.record.prepared import sql

#: Days after today that have a partition. If the reconciler is down for longer, events of later days are in the
#: default partition, and are deleted one by one.
AHEAD = 7
#: How long after its retention a day may be held by a job that ended late; then the events of all others are deleted.
LATE_DAYS = 2.0


def add_days() -> TextClause:
    """Add partitions for today and the days to come; how many there were to add. Raises: DBAPIError 55P03, busy."""
    return sql("SELECT assay_add_event_days(:ahead)", ahead=AHEAD)


def days_ahead() -> TextClause:
    """Select the number of consecutive days after today that have a partition."""
    return sql(
        """
        SELECT count(*) FROM (
            SELECT bool_and(EXISTS (
                SELECT 1 FROM job_event_partitions() p WHERE coalesce(p.from_id, '') <= job_id_at(day.start)
                  AND p.to_id >= job_id_at(day.start + interval '24 hours'))) OVER (ORDER BY day.start) AS there
            FROM (SELECT date_trunc('day', statement_timestamp(), 'UTC') + make_interval(hours => 24 * number) AS start
                  FROM generate_series(1, :ahead) AS number) AS day) AS days
        WHERE there
        """,
        ahead=AHEAD,
    )


def leave_events() -> TextClause:
    """Leave the events of deleted jobs to the drop of their day, in this transaction.

    Those of the first partition are deleted: it may be months long.
    """
    return sql(
        """
        SELECT set_config('assay.events_dropped_from',
            coalesce((SELECT min(from_id) FROM job_event_partitions()), ''), true)
        """
    )


def past_days(retention_days: float) -> TextClause:
    """Partitions of which every job is past its retention by its id: ``name, from_id, to_id``, and whether it is late.

    Jobs that ended long after they were submitted may be left in them.
    """
    return sql(
        """
        SELECT name, coalesce(from_id, '') AS from_id, to_id,
            to_id <= job_id_at(statement_timestamp() - make_interval(secs => :late)) AS late
        FROM job_event_partitions() WHERE to_id <= job_id_at(statement_timestamp() - make_interval(secs => :seconds))
        ORDER BY to_id
        """,
        seconds=retention_days * 86400,
        late=(retention_days + LATE_DAYS) * 86400,
    )


def drop(name: str) -> TextClause:
    """Drop a partition; false when it has a job yet, or is gone. Raises: DBAPIError 55P03, busy."""
    return sql("SELECT assay_drop_event_days(:name)", name=name)


def orphaned_events(after: str, until: str, limit: int) -> TextClause:
    """Delete, among the next rows of jobs between two ids, those whose job is gone; ``last`` job, or null at the
    end.
    """
    return sql(
        f"""
        WITH page AS (
            SELECT DISTINCT job_id FROM (
                SELECT job_id FROM job_events WHERE job_id > :after AND job_id < :until
                ORDER BY job_id, seq LIMIT {limit:d}) AS rows
        ), gone AS (
            DELETE FROM job_events WHERE job_id > :after AND job_id < :until AND job_id = ANY(ARRAY(
                SELECT job_id FROM page WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = page.job_id)))
        )
        SELECT max(job_id) AS last FROM page
        """,  # noqa: S608 - a constant of ours
        after=after,
        until=until,
    )
