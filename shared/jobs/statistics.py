"""Sums over jobs and their model calls, and the state of the queues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import DateTime, Text, TextClause, bindparam, text

#: What jobs are grouped by, as SQL over ``j``; their calls come with them.
_OF_JOBS: Mapping[str, str] = MappingProxyType(
    {"kind": "j.kind", "state": "j.state", "key": "j.actor", "tenant": "j.tenant_id"}
)
#: What calls are grouped by, as SQL over ``c``.
_OF_CALLS: Mapping[str, str] = MappingProxyType(
    {
        "model": "coalesce(c.served_provider, c.requested_provider)"
        " || '/' || coalesce(c.served_model, c.requested_model)",
        "provider": "coalesce(c.served_provider, c.requested_provider)",
        "role": "c.role",
        "prompt": "coalesce(c.prompt_key || '@' || c.prompt_version, '')",
        "source": "c.source",
    }
)
GROUPINGS = _OF_JOBS.keys() | _OF_CALLS.keys()
_REACHED = "c.outcome NOT IN ('skipped', 'connection_failed')"

_SPENT = f"""
    count(*) FILTER (WHERE {_REACHED}) AS calls,
    coalesce(sum(c.input_tokens), 0) AS input_tokens, coalesce(sum(c.output_tokens), 0) AS output_tokens,
    sum(c.cost_usd) FILTER (WHERE c.source <> 'replay') AS cost_usd,
    count(*) FILTER (WHERE c.outcome = 'ok' AND c.cost_usd IS NULL AND c.source <> 'replay') AS unpriced
"""


def sums(tenant: str | None, by: str, bucket: str, since: datetime, until: datetime) -> TextClause:
    """A row per bucket and group, oldest first; ``tenant`` None is all of them."""
    statement = _jobs_by(_OF_JOBS[by]) if by in _OF_JOBS else _calls_by(_OF_CALLS[by])
    return statement.bindparams(
        bindparam("tenant", tenant, type_=Text),
        bindparam("bucket", bucket, type_=Text),
        bindparam("since", since, type_=DateTime(timezone=True)),
        bindparam("until", until, type_=DateTime(timezone=True)),
    )


def _jobs_by(group: str) -> TextClause:
    return text(
        f"""
        WITH chosen AS (
            SELECT j.tenant_id, j.id, date_trunc(:bucket, j.created_at, 'UTC') AS at, {group} AS "group", j.state,
                   extract(epoch FROM j.started_at - j.created_at) AS wait,
                   extract(epoch FROM j.finished_at - j.started_at) AS run
            FROM jobs j
            WHERE j.created_at >= :since AND j.created_at < :until AND (:tenant IS NULL OR j.tenant_id = :tenant)
        ), spent AS (
            SELECT o.at, o."group", {_SPENT}
            FROM chosen o JOIN llm_calls c ON c.tenant_id = o.tenant_id AND c.job_id = o.id GROUP BY 1, 2
        )
        SELECT o.at, o."group", count(*) AS jobs,
               count(*) FILTER (WHERE o.state = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE o.state IN ('failed', 'dead')) AS failed,
               percentile_cont(.5) WITHIN GROUP (ORDER BY o.wait) AS wait_p50,
               percentile_cont(.95) WITHIN GROUP (ORDER BY o.wait) AS wait_p95,
               percentile_cont(.5) WITHIN GROUP (ORDER BY o.run) AS run_p50,
               percentile_cont(.95) WITHIN GROUP (ORDER BY o.run) AS run_p95,
               coalesce(max(s.calls), 0) AS calls, coalesce(max(s.input_tokens), 0) AS input_tokens,
               coalesce(max(s.output_tokens), 0) AS output_tokens, max(s.cost_usd) AS cost_usd,
               coalesce(max(s.unpriced), 0) AS unpriced
        FROM chosen o LEFT JOIN spent s ON s.at = o.at AND s."group" = o."group"
        GROUP BY 1, 2 ORDER BY 1, 2
        """  # noqa: S608 - the group is one of ours
    )


def _calls_by(group: str) -> TextClause:
    return text(
        f"""
        SELECT date_trunc(:bucket, c.at, 'UTC') AS at, {group} AS "group", count(DISTINCT c.job_id) AS jobs,
               count(DISTINCT c.job_id) FILTER (WHERE j.state = 'succeeded') AS succeeded,
               count(DISTINCT c.job_id) FILTER (WHERE j.state IN ('failed', 'dead')) AS failed,
               percentile_cont(.5) WITHIN GROUP (ORDER BY c.seconds) FILTER (WHERE c.outcome = 'ok') AS run_p50,
               percentile_cont(.95) WITHIN GROUP (ORDER BY c.seconds) FILTER (WHERE c.outcome = 'ok') AS run_p95,
               count(*) FILTER (WHERE c.reason = 'failover' AND c.outcome = 'ok') AS failovers, {_SPENT}
        FROM llm_calls c LEFT JOIN jobs j ON j.tenant_id = c.tenant_id AND j.id = c.job_id
        WHERE c.at >= :since AND c.at < :until AND (:tenant IS NULL OR c.tenant_id = :tenant)
        GROUP BY 1, 2 ORDER BY 1, 2
        """  # noqa: S608 - the group is one of ours
    )


def queues(tenant: str | None) -> TextClause:
    """Per kind that has any: what waits, runs, and came and went in the last hour."""
    return text(
        """
        SELECT kind, count(*) FILTER (WHERE state = 'queued') AS queued,
               count(*) FILTER (WHERE state = 'running') AS running,
               extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE state = 'queued'))
                   AS oldest_seconds,
               count(*) FILTER (WHERE created_at > clock_timestamp() - interval '1 hour') AS submitted_last_hour,
               count(*) FILTER (WHERE finished_at > clock_timestamp() - interval '1 hour') AS ended_last_hour,
               count(*) FILTER (WHERE finished_at > clock_timestamp() - interval '1 hour'
                                AND state IN ('failed', 'dead')) AS failed_last_hour
        FROM jobs
        WHERE (:tenant IS NULL OR tenant_id = :tenant)
          AND (state IN ('queued', 'running') OR finished_at > clock_timestamp() - interval '1 hour')
        GROUP BY kind
        """
    ).bindparams(bindparam("tenant", tenant, type_=Text))


def recent_workers() -> TextClause:
    """Workers of the last ten minutes, the living first."""
    return text(
        """
        SELECT w.id, w.service, w.kinds, w.concurrency, w.version, w.facts, w.started_at, w.seen_at,
               w.seen_at > clock_timestamp() - interval '6 seconds' AS alive,
               (SELECT count(*) FROM jobs j WHERE j.state = 'running' AND j.worker_id = w.id) AS running
        FROM workers w WHERE w.seen_at > clock_timestamp() - interval '10 minutes'
        ORDER BY alive DESC, w.service, w.started_at
        """
    )
