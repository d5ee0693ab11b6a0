"""Sums over jobs and their model calls, and the state of the queues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import DateTime, Text, TextClause, bindparam, text

from shared.jobs.record.titles import outcome_sql

#: Results are large: those of no more jobs are read, the newest of the time.
MAX_RESULTS = 2_000
_READABLE = f"""j.created_at >= coalesce((
    SELECT k.created_at FROM jobs k
    WHERE k.created_at >= :since AND k.created_at < :until AND (:tenant IS NULL OR k.tenant_id = :tenant)
      AND k.state = 'succeeded' ORDER BY k.created_at DESC OFFSET {MAX_RESULTS - 1} LIMIT 1), '-infinity')"""  # noqa: S608 - the number is ours
#: What jobs are grouped by, as SQL over ``j``; their calls come with them.
_OF_JOBS: Mapping[str, str] = MappingProxyType(
    {
        "kind": "j.kind",
        "state": "j.state",
        "outcome": outcome_sql("j", readable=_READABLE),
        "key": "j.actor",
        "tenant": "j.tenant_id",
    }
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

_BUCKET = "CASE :bucket WHEN 'all' THEN :since ELSE date_trunc(:bucket, {moment}, 'UTC') END"
_SPENT = f"""
    count(*) FILTER (WHERE {_REACHED}) AS calls,
    count(*) FILTER (WHERE {_REACHED} AND c.outcome NOT IN ('ok', 'abandoned')) AS errors,
    coalesce(sum(c.input_tokens), 0) AS input_tokens, coalesce(sum(c.output_tokens), 0) AS output_tokens,
    sum(c.cost_usd) FILTER (WHERE c.source <> 'replay') AS cost_usd,
    count(*) FILTER (WHERE c.outcome = 'ok' AND c.cost_usd IS NULL AND c.source <> 'replay') AS unpriced
"""
# Of jobs that began and ended in the time: of others some turns are not in it.
_DONE = "j.state = 'succeeded' AND j.created_at >= :since AND j.finished_at < :until"
_TURNS = f"""
    percentile_cont(.5) WITHIN GROUP (ORDER BY t.turns) FILTER (WHERE {_DONE}) AS turns_p50,
    avg(t.turns) FILTER (WHERE {_DONE})::float AS turns_mean, count(t.turns) FILTER (WHERE {_DONE}) AS turns_jobs
"""


def sums(
    tenant: str | None, by: str, bucket: str, since: datetime, until: datetime, source: str | None = None
) -> TextClause:
    """Select a row per bucket and group, oldest first; ``tenant`` None is all of them, and so is ``source`` None.

    The bucket ``all`` is one for the whole time. With a source only its calls count, and the jobs that have one.
    """
    statement = _jobs_by(_OF_JOBS[by]) if by in _OF_JOBS else _calls_by(_OF_CALLS[by])
    return _bound(statement.bindparams(bindparam("bucket", bucket, type_=Text)), tenant, since, until, source)


def served(tenant: str, since: datetime, until: datetime, source: str | None = None) -> TextClause:
    """Select per requested and finally serving model: the number of requests, jobs and faults.

    Attempts name their request; those of older versions follow each other in the ledger, numbered from 1. A
    request whose first attempt is older than the time is left out. The source is that of the last attempt.
    """
    statement = text(
        """
        WITH attempts AS (
            SELECT c.job_id, c.job_attempt, c.role, c.turn, c.attempt, c.requested_provider, c.requested_model,
                   c.served_provider, c.served_model, c.outcome, c.source, c.request,
                   c.reason = 'hedge' AS is_hedge, CASE WHEN c.request IS NULL THEN
                       count(*) FILTER (WHERE c.attempt = 1 AND c.request IS NULL)
                           OVER (PARTITION BY c.job_id, c.job_attempt, c.role, c.turn ORDER BY c.id) END AS number
            FROM llm_calls c WHERE c.at >= :since AND c.at < :until AND c.tenant_id = :tenant
        ), requests AS (
            SELECT a.job_id,  -- of two that were asked at once, the one that ends first has the first number
                   (array_agg(a.requested_provider ORDER BY a.is_hedge, a.attempt))[1] AS requested_provider,
                   (array_agg(a.requested_model ORDER BY a.is_hedge, a.attempt))[1] AS requested_model,
                   (array_agg(a.served_provider ORDER BY a.attempt) FILTER (WHERE a.outcome = 'ok'))[1]
                       AS served_provider,
                   (array_agg(a.served_model ORDER BY a.attempt) FILTER (WHERE a.outcome = 'ok'))[1] AS served_model,
                   nullif((array_agg(a.outcome ORDER BY a.is_hedge, a.attempt))[1], 'ok') AS cause,
                   (array_agg(a.source ORDER BY a.attempt DESC))[1] AS source
            FROM attempts a GROUP BY a.job_id, a.job_attempt, a.role, a.turn, a.request, a.number
            HAVING min(a.attempt) = 1
        )
        SELECT r.requested_provider, r.requested_model, r.served_provider, r.served_model, count(*) AS requests,
               count(DISTINCT r.job_id) AS jobs, array_remove(array_agg(DISTINCT r.cause), NULL) AS causes
        FROM requests r WHERE :source IS NULL OR r.source = :source
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, requests DESC, 3, 4
        """
    )
    return _bound(statement, tenant, since, until, source)


def _bound(
    statement: TextClause, tenant: str | None, since: datetime, until: datetime, source: str | None
) -> TextClause:
    return statement.bindparams(
        bindparam("tenant", tenant, type_=Text),
        bindparam("since", since, type_=DateTime(timezone=True)),
        bindparam("until", until, type_=DateTime(timezone=True)),
        bindparam("source", source, type_=Text),
    )


def _jobs_by(group: str) -> TextClause:
    return text(
        f"""
        WITH chosen AS (
            SELECT j.tenant_id, j.id, j.state, j.created_at, j.started_at, j.finished_at,
                   {_BUCKET.format(moment="j.created_at")} AS at, {group} AS "group"
            FROM jobs j
            WHERE j.created_at >= :since AND j.created_at < :until AND (:tenant IS NULL OR j.tenant_id = :tenant)
        ), taken AS (
            SELECT c.tenant_id, c.job_id, count(DISTINCT c.turn) AS turns, {_SPENT}
            FROM chosen j JOIN llm_calls c ON c.tenant_id = j.tenant_id AND c.job_id = j.id
            WHERE :source IS NULL OR c.source = :source GROUP BY 1, 2
        )
        SELECT j.at, j."group", count(*) AS jobs,
               count(*) FILTER (WHERE j.state = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE j.state IN ('failed', 'dead')) AS failed,
               percentile_cont(.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.started_at - j.created_at)) AS wait_p50,
               percentile_cont(.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.started_at - j.created_at))
                   AS wait_p95,
               percentile_cont(.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.finished_at - j.started_at)) AS run_p50,
               percentile_cont(.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.finished_at - j.started_at))
                   AS run_p95,
               {_TURNS}, coalesce(sum(t.calls), 0)::bigint AS calls, coalesce(sum(t.errors), 0)::bigint AS errors,
               coalesce(sum(t.input_tokens), 0)::bigint AS input_tokens,
               coalesce(sum(t.output_tokens), 0)::bigint AS output_tokens,
               sum(t.cost_usd) AS cost_usd, coalesce(sum(t.unpriced), 0)::bigint AS unpriced
        FROM chosen j LEFT JOIN taken t ON t.tenant_id = j.tenant_id AND t.job_id = j.id
        WHERE :source IS NULL OR t.job_id IS NOT NULL
        GROUP BY 1, 2 ORDER BY 1, 2
        """  # noqa: S608 - the group is one of ours
    )


def _calls_by(group: str) -> TextClause:
    return text(
        f"""
        WITH chosen AS (
            SELECT c.tenant_id, c.job_id, c.turn, c.reason, c.outcome, c.source, c.input_tokens, c.output_tokens,
                   c.cost_usd, c.seconds, {_BUCKET.format(moment="c.at")} AS bucket, {group} AS "group"
            FROM llm_calls c
            WHERE c.at >= :since AND c.at < :until AND (:tenant IS NULL OR c.tenant_id = :tenant)
              AND (:source IS NULL OR c.source = :source)
        ), taken AS (
            SELECT tenant_id, job_id, count(DISTINCT turn) AS turns FROM chosen GROUP BY 1, 2
        ), ended AS (
            SELECT o.bucket, o."group", count(*) AS jobs,
                   count(*) FILTER (WHERE j.state = 'succeeded') AS succeeded,
                   count(*) FILTER (WHERE j.state IN ('failed', 'dead')) AS failed, {_TURNS}
            FROM (SELECT DISTINCT bucket, "group", tenant_id, job_id FROM chosen WHERE job_id IS NOT NULL) o
                JOIN taken t ON t.tenant_id = o.tenant_id AND t.job_id = o.job_id
                LEFT JOIN jobs j ON j.tenant_id = o.tenant_id AND j.id = o.job_id
            GROUP BY 1, 2
        ), spent AS (
            SELECT c.bucket, c."group",
                   percentile_cont(.5) WITHIN GROUP (ORDER BY c.seconds) FILTER (WHERE c.outcome = 'ok') AS run_p50,
                   percentile_cont(.95) WITHIN GROUP (ORDER BY c.seconds) FILTER (WHERE c.outcome = 'ok') AS run_p95,
                   count(*) FILTER (WHERE c.reason = 'failover' AND c.outcome = 'ok') AS failovers, {_SPENT}
            FROM chosen c GROUP BY 1, 2
        )
        SELECT s.bucket AS at, s."group", coalesce(e.jobs, 0) AS jobs, coalesce(e.succeeded, 0) AS succeeded,
               coalesce(e.failed, 0) AS failed, s.run_p50, s.run_p95, e.turns_p50, e.turns_mean,
               coalesce(e.turns_jobs, 0) AS turns_jobs, s.calls, s.errors, s.failovers, s.input_tokens,
               s.output_tokens, s.cost_usd, s.unpriced
        FROM spent s LEFT JOIN ended e ON e.bucket = s.bucket AND e."group" = s."group"
        ORDER BY 1, 2
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


def queue_tenants(tenant: str | None, most: int) -> TextClause:
    """Per kind the ``most`` tenants with the most queued and running jobs, most first."""
    return text(
        """
        SELECT kind, tenant, queued, running
        FROM (
            SELECT kind, tenant_id AS tenant, count(*) FILTER (WHERE state = 'queued') AS queued,
                   count(*) FILTER (WHERE state = 'running') AS running,
                   row_number() OVER (PARTITION BY kind ORDER BY count(*) DESC, tenant_id) AS place
            FROM jobs
            WHERE (:tenant IS NULL OR tenant_id = :tenant) AND state IN ('queued', 'running')
            GROUP BY kind, tenant_id
        ) ranked
        WHERE place <= :most
        ORDER BY kind, place
        """
    ).bindparams(bindparam("tenant", tenant, type_=Text), bindparam("most", most))


def queue_history(tenant: str | None, since: datetime) -> TextClause:
    """Select per kind and minute after ``since``: how many jobs were submitted, left the queue, ended and failed.

    A job without a start left the queue at its end. Minute -1 holds what happened before. Jobs that ended before
    ``since`` were not in the queue after it.
    """
    return text(
        """
        SELECT j.kind, greatest(-1, floor(extract(epoch FROM happened.at - :since) / 60))::int AS minute,
               sum(happened.submitted)::bigint AS submitted, sum(happened.left_queue)::bigint AS left_queue,
               sum(happened.ended)::bigint AS ended,
               (sum(happened.ended) FILTER (WHERE j.state IN ('failed', 'dead')))::bigint AS failed
        FROM jobs j CROSS JOIN LATERAL (VALUES
            (j.created_at, 1, 0, 0), (j.finished_at, 0, 0, 1),
            (CASE WHEN j.state <> 'queued' THEN coalesce(j.started_at, j.finished_at) END, 0, 1, 0)
        ) AS happened (at, submitted, left_queue, ended)
        WHERE (:tenant IS NULL OR j.tenant_id = :tenant) AND happened.at IS NOT NULL
          AND (j.state IN ('queued', 'running') OR j.finished_at > :since)
        GROUP BY 1, 2
        """
    ).bindparams(bindparam("tenant", tenant, type_=Text), bindparam("since", since, type_=DateTime(timezone=True)))


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
