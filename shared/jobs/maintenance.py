"""Statements of the reconciler that change no job's state: notifications and retention."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Executable, TextClause, func

from shared.jobs.statements import sql
from shared.jobs.tables import idempotency_keys

_CLAIMABLE = """
    state = 'queued' AND run_at <= clock_timestamp()
    AND id = (SELECT e.id FROM jobs e WHERE e.conversation_id = jobs.conversation_id
              AND e.state IN ('queued', 'running') ORDER BY e.id LIMIT 1)
"""


def waiting_jobs(quiet_seconds: float) -> TextClause:
    """Per kind: how many queued jobs could run now (``ready``), and how many of those had no notification lately."""
    return sql(
        f"""
        SELECT kind, count(*) AS ready,
               count(*) FILTER (WHERE coalesce(notified_at, '-infinity')
                                      < clock_timestamp() - make_interval(secs => :quiet)) AS quiet
        FROM jobs WHERE {_CLAIMABLE} GROUP BY kind
        """,  # noqa: S608 - a constant of ours
        quiet=quiet_seconds,
    )


def unnotified_jobs(kind: str, quiet_seconds: float, limit: int) -> TextClause:
    """The queued jobs of a kind that had no notification lately, oldest first; they count as notified from now on."""
    return sql(
        f"""
        UPDATE jobs SET notified_at = clock_timestamp() WHERE id IN (
            SELECT id FROM jobs WHERE kind = :kind AND {_CLAIMABLE}
              AND (notified_at IS NULL OR notified_at < clock_timestamp() - make_interval(secs => :quiet))
            ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED)
        RETURNING id
        """,  # noqa: S608 - a constant of ours
        kind=kind,
        quiet=quiet_seconds,
        most=limit,
    )


def expired_jobs(retention_days: float, limit: int) -> TextClause:
    """Delete finished jobs that are past their retention, with their events and forms."""
    return sql(
        """
        DELETE FROM jobs WHERE id IN (
            SELECT id FROM jobs WHERE finished_at < clock_timestamp() - make_interval(secs => :seconds)
            ORDER BY finished_at LIMIT :most FOR UPDATE SKIP LOCKED)
        RETURNING id, conversation_id
        """,
        seconds=retention_days * 86400,
        most=limit,
    )


def expired_uploads(days: float, limit: int) -> TextClause:
    """Delete uploaded files that are older, unless a job that has not ended names one in its input."""
    return sql(
        """
        DELETE FROM files WHERE id IN (
            SELECT id FROM files
            WHERE job_id IS NULL AND created_at < clock_timestamp() - make_interval(secs => :seconds)
              AND NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('queued', 'running')
                              AND jobs.tenant_id = files.tenant_id AND position(files.id IN jobs.input::text) > 0)
            ORDER BY created_at LIMIT :most)
        RETURNING id
        """,
        seconds=days * 86400,
        most=limit,
    )


def orphaned_conversations(ids: Sequence[str]) -> TextClause:
    """Delete those of the conversations that have no message, and that no job and no flow refers to."""
    return sql(
        """
        DELETE FROM conversations WHERE id = ANY(:ids)
          AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation_id = conversations.id)
          AND NOT EXISTS (SELECT 1 FROM jobs WHERE conversation_id = conversations.id)
          AND NOT EXISTS (SELECT 1 FROM flows WHERE conversation_id = conversations.id)
        """,
        texts__ids=list(ids),
    )


def expired_idempotency_keys(hours: float) -> Executable:
    age = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, hours * 3600)
    return idempotency_keys.delete().where(idempotency_keys.c.created_at < age)
