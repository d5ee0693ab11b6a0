"""Statements of the reconciler that change no job's state: notifications and retention."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import TextClause

from shared.jobs.record.prepared import sql

#: Held by the reconciler that leads, in a transaction that lasts as long.
LEADER_LOCK = 0x415353_41595243
#: Written as the index ``ix_jobs_heads`` is: only that index can serve it.
_CLAIMABLE = "CASE WHEN head THEN state END = 'queued' AND run_at <= clock_timestamp()"
#: How many jobs of a kind are inspected per round: more are not notified for.
MAX_INSPECTED = 2_000


def waiting_jobs(quiet_seconds: float) -> TextClause:
    """Per kind: how many queued jobs could run now (``ready``), and how many of those had no notification lately.

    Of each kind some jobs are counted and no more: a notification serves any job of its kind.
    """
    return sql(
        f"""
        WITH RECURSIVE kinds AS (
            (SELECT kind FROM job_turns WHERE ready ORDER BY kind LIMIT 1)
            UNION ALL
            SELECT (SELECT t.kind FROM job_turns t WHERE t.ready AND t.kind > kinds.kind ORDER BY t.kind LIMIT 1)
            FROM kinds WHERE kinds.kind IS NOT NULL
        )
        SELECT kinds.kind, count(*) AS ready,
               count(*) FILTER (WHERE coalesce(notified_at, '-infinity')
                                      < clock_timestamp() - make_interval(secs => :quiet)) AS quiet
        FROM kinds CROSS JOIN LATERAL (
            SELECT notified_at FROM jobs WHERE jobs.kind = kinds.kind AND {_CLAIMABLE}
            ORDER BY tenant_id, priority DESC, id LIMIT {MAX_INSPECTED}
        ) AS waiting
        GROUP BY kinds.kind
        """,  # noqa: S608 - a constant of ours
        quiet=quiet_seconds,
    )


def unnotified_jobs(kind: str, quiet_seconds: float, limit: int) -> TextClause:
    """Queued jobs of a kind that had no notification lately; they count as notified from now on."""
    return sql(
        f"""
        UPDATE jobs SET notified_at = clock_timestamp() WHERE id = ANY(ARRAY(
            SELECT id FROM jobs WHERE kind = :kind AND {_CLAIMABLE}
              AND (notified_at IS NULL OR notified_at < clock_timestamp() - make_interval(secs => :quiet))
            ORDER BY tenant_id, priority DESC, id LIMIT {limit:d} FOR NO KEY UPDATE SKIP LOCKED))
        RETURNING id
        """,  # noqa: S608 - a constant of ours
        kind=kind,
        quiet=quiet_seconds,
    )


#: ``statement_timestamp()`` and not ``clock_timestamp()``: the time has to be a bound of the index that is scanned.
_AGE = "statement_timestamp() - make_interval(secs => :seconds)"
# ``= ANY(ARRAY(...))`` and a literal LIMIT: whatever the statistics say, rows are found by their index.


def expired_jobs(retention_days: float, limit: int) -> TextClause:
    """Delete finished jobs that are past their retention, with their forms, files and model calls.

    And with their events, unless ``partitions.leave_events`` came before.
    """
    return sql(
        f"""
        WITH job AS (
            DELETE FROM jobs WHERE id = ANY(ARRAY(
                SELECT id FROM jobs WHERE finished_at < {_AGE}
                ORDER BY finished_at LIMIT {limit:d} FOR UPDATE SKIP LOCKED))
            RETURNING id, conversation_id
        ), file AS (
            DELETE FROM files WHERE job_id = ANY(ARRAY(SELECT id FROM job))
        ), call AS (
            DELETE FROM llm_calls WHERE job_id = ANY(ARRAY(SELECT id FROM job))
        )
        SELECT id, conversation_id FROM job
        """,  # noqa: S608 - a constant of ours
        seconds=retention_days * 86400,
    )


def expired_uploads(days: float, limit: int) -> TextClause:
    """Delete uploaded files that are older, unless a job that has not ended names one in its input."""
    return sql(
        f"""
        DELETE FROM files WHERE id = ANY(ARRAY(
            SELECT id FROM files
            WHERE job_id IS NULL AND created_at < {_AGE}
              AND NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('queued', 'running')
                              AND jobs.tenant_id = files.tenant_id AND position(files.id IN jobs.input::text) > 0)
            ORDER BY created_at LIMIT {limit:d}))
        RETURNING id
        """,  # noqa: S608 - a constant of ours
        seconds=days * 86400,
    )


def expired_texts(days: float, limit: int) -> TextClause:
    """Delete texts of model calls that are older; the calls stay in the ledger."""
    return sql(
        f"""
        DELETE FROM llm_texts WHERE call_id = ANY(ARRAY(
            SELECT call_id FROM llm_texts WHERE at < {_AGE} ORDER BY at LIMIT {limit:d}))
        """,  # noqa: S608 - a constant of ours
        seconds=days * 86400,
    )


def orphaned_conversations(ids: Sequence[str]) -> TextClause:
    """Delete those of the conversations that have no message, and that no job and no flow refers to."""
    return sql(
        """
        DELETE FROM conversations WHERE id = ANY(:ids)
          AND NOT EXISTS (SELECT 1 FROM messages m
                          WHERE m.tenant_id = conversations.tenant_id AND m.conversation_id = conversations.id)
          AND NOT EXISTS (SELECT 1 FROM jobs j
                          WHERE j.tenant_id = conversations.tenant_id AND j.conversation_id = conversations.id)
          AND NOT EXISTS (SELECT 1 FROM flows f
                          WHERE f.tenant_id = conversations.tenant_id AND f.conversation_id = conversations.id)
        """,
        texts__ids=list(ids),
    )


def orphans(table: str, after: str, limit: int) -> TextClause:
    """Delete, among the next rows of ``files`` or ``llm_calls`` by job, those whose job is gone; ``last`` job, or null.

    A run that was fenced off may write after its job was deleted. Such rows are few, so the table is scanned a page at
    a time.
    """
    if table not in ("files", "llm_calls"):
        raise ValueError(table)
    return sql(
        f"""
        WITH page AS (
            SELECT DISTINCT job_id FROM (
                SELECT job_id FROM {table} WHERE job_id > :after ORDER BY job_id LIMIT {limit:d}) AS rows
        ), gone AS (
            DELETE FROM {table} WHERE job_id = ANY(ARRAY(
                SELECT job_id FROM page WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = page.job_id)))
        )
        SELECT max(job_id) AS last FROM page
        """,  # noqa: S608 - one of ours
        after=after,
    )


def expired_idempotency_keys(hours: float, limit: int) -> TextClause:
    return sql(
        f"""
        DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM idempotency_keys WHERE created_at < {_AGE}
            ORDER BY created_at LIMIT {limit:d} FOR UPDATE SKIP LOCKED))
        """,  # noqa: S608 - a constant of ours
        seconds=hours * 3600,
    )
