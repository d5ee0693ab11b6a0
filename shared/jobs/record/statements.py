"""Every change of a job, each one fenced statement on the database's clock; either side executes them, sync or async.

States move only here:

    submit -> queued -> claim -> running -> complete -> succeeded | failed | cancelled
                 ^                  |
                 +---- reclaim -----+--> (a last wait) -> bury -> dead after too many crashed workers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue
from sqlalchemy import Executable, TextClause

from shared.contracts.jobs import JobState
from shared.jobs.record.prepared import Statement, sql, statement
from shared.jobs.record.tables import job_forms


class Held(NamedTuple):
    """A running job, and the fence of its holder."""

    tenant_id: str
    id: str
    fence: int

    @classmethod
    def of(cls, row: Any) -> Held:  # noqa: ANN401 - a row or a job
        return cls(row.tenant_id, row.id, row.fence)


# --- the worker's --------------------------------------------------------------------------------------------------


def claim(
    kind: str, worker_id: str, lease_seconds: float, tenant_running: int = 0, *model_digests: str | None
) -> Statement:
    """Move the next jobs of a kind from queued to running under a lease; no row when nothing can be claimed.

    A notification only signals that there is work. The database function ``claim_jobs`` decides which job is next: of
    the
    tenant that start-time fair queueing by weight selects, the job of the highest priority, then the oldest. So a long
    queue of one tenant delays another by one job at most. Jobs of one conversation run one after the other.
    ``tenant_running`` caps a tenant's running jobs (0: no cap) unless ``tenant_limits`` has a cap for the tenant.
    ``model_digests`` are of the secrets with which the runs call the broker (see ``asking_run``): up to as many jobs
    are
    claimed (one without any), and fewer when the schedule returns to a tenant that was just served: then call again. A
    claim does not wait for the disk: if a crash of Postgres loses it, the job is queued again, and no later claim gets
    the same fence.
    """
    return statement(
        """
        WITH job AS MATERIALIZED (
            SELECT * FROM claim_jobs(:kind, :worker_id, :lease, :cap, CAST(:digests AS text[]))
        ), event AS (
            INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
            SELECT tenant_id, id, last_seq, 'job_started', fence, jsonb_strip_nulls(jsonb_build_object(
                'attempt', attempt,
                'isolation', (SELECT jsonb_build_object('tier', facts->'isolation'->'tier',
                                                        'claimed', facts->'isolation'->'claimed')
                              FROM workers WHERE workers.id = :worker_id AND facts->'isolation' IS NOT NULL)))
            FROM job
        )
        SELECT id, tenant_id, kind, state, input, budget, overrides, conversation_id, actor, labels,
            attempt, fence, last_seq, lease_until, run_at, started_at, request_id, trace_context, suspect, model_digest
        FROM job
        """,
        kind=kind,
        worker_id=worker_id,
        lease=lease_seconds,
        cap=tenant_running,
        digests=list(model_digests or (None,)),
    )


def asking_run(job_id: str, model_digest: str) -> TextClause:
    """Select the running job whose worker holds the secret of that digest; ``seconds`` is how long it has run."""
    return sql(
        """
        SELECT tenant_id, kind, attempt, budget, overrides,
            CAST(extract(epoch FROM clock_timestamp() - started_at) AS double precision) AS seconds
        FROM jobs
        WHERE id = :id AND model_digest = :digest AND state = 'running' AND lease_until > clock_timestamp()
            AND cancel_requested_at IS NULL
        """,
        id=job_id,
        digest=model_digest,
    )


def begin_alone(held: Held) -> Statement:
    """Record that a running job is the only one of its worker from now on; no row when it is fenced off."""
    return statement(
        "UPDATE jobs SET alone = true "
        "WHERE id = :id AND tenant_id = :tenant AND fence = :fence AND state = 'running' RETURNING id",
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
    )


def heartbeat(held: Sequence[Held], lease_seconds: float) -> TextClause:
    """Renew the leases of a worker's jobs; a job whose id is not returned is fenced off and must stop.

    The statement does not wait for the disk: a lease that a crash of Postgres loses runs out earlier.
    """
    tenants, ids, fences = zip(*held, strict=True)
    return sql(
        """
        UPDATE jobs j SET lease_until = clock_timestamp() + make_interval(secs => :lease)
        FROM unnest(:tenants, :ids, :fences) AS held(tenant_id, id, fence),
             set_config('synchronous_commit', 'off', true)
        WHERE j.id = held.id AND j.tenant_id = held.tenant_id AND j.fence = held.fence AND j.state = 'running'
        RETURNING j.id, j.cancel_requested_at
        """,
        texts__tenants=list(tenants),
        texts__ids=list(ids),
        numbers__fences=list(fences),
        lease=lease_seconds,
    )


def complete(
    held: Held,
    state: JobState,
    result: Mapping[str, JsonValue] | None,
    error: Mapping[str, JsonValue] | None,
    warnings: Sequence[str],
    usage: Mapping[str, JsonValue],
    tenant_running: int = 0,
) -> Statement:
    """End a running job with its terminal event; no row when the fence has moved on (then nothing may be written).

    A requested cancellation wins over a result that comes in later. ``next_kind`` is the kind of a job that waited for
    this one, as the next of its conversation or for its place (``tenant_running`` as of ``claim``): its notification
    may be used up.
    """
    return statement(
        """
        WITH job AS (
            UPDATE jobs SET
                state = CASE WHEN cancel_requested_at IS NULL THEN :state ELSE 'cancelled' END,
                result = CASE WHEN cancel_requested_at IS NULL THEN CAST(:result AS jsonb) END,
                error = CASE WHEN cancel_requested_at IS NULL THEN CAST(:error AS jsonb) END,
                warnings = warnings || CAST(:warnings AS jsonb), usage = :usage,
                stored_bytes = stored_bytes + CASE WHEN cancel_requested_at IS NULL
                    THEN coalesce(pg_column_size(CAST(:result AS jsonb)), 0) ELSE 0 END,
                lease_until = NULL, finished_at = clock_timestamp(), last_seq = last_seq + 1
            WHERE id = :id AND tenant_id = :tenant AND fence = :fence AND state = 'running'
            RETURNING id, tenant_id, kind, state, last_seq, fence, error, conversation_id
        ), event AS (
            INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
            SELECT tenant_id, id, last_seq, 'job_' || state, fence,
                   CASE WHEN error IS NULL THEN '{}' ELSE jsonb_build_object('code', error->'code') END
            FROM job
        )
        SELECT id, state, last_seq, coalesce((
            SELECT kind FROM jobs WHERE tenant_id = job.tenant_id AND conversation_id = job.conversation_id
              AND id > job.id AND state = 'queued' ORDER BY id LIMIT 1), CASE WHEN most > 0 AND most <= (
                SELECT count(*) FROM jobs r  -- as they were before this statement
                WHERE r.state = 'running' AND r.tenant_id = job.tenant_id AND r.kind = job.kind) THEN kind END
        ) AS next_kind
        FROM job CROSS JOIN LATERAL (SELECT coalesce((
            SELECT running_jobs FROM tenant_limits l WHERE l.tenant_id = job.tenant_id), :cap) AS most) AS capped
        """,
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
        cap=tenant_running,
        state=str(state),
        json__result=result,
        json__error=error,
        json__warnings=list(warnings),
        json__usage=usage,
    )


def correct_result(held: Held, fields: Mapping[str, JsonValue]) -> TextClause:
    """Put other values into the result that ``complete`` has just written, in the same transaction."""
    return sql(
        "UPDATE jobs SET result = result || CAST(:fields AS jsonb) "
        "WHERE id = :id AND tenant_id = :tenant AND fence = :fence",
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
        json__fields=fields,
    )


def came_back(held: Held) -> TextClause:
    """Take a crash back: the worker of that run fell silent, and lives; a job that waited for its verdict runs again.

    No row when no crash was counted for the run, or the job has ended.
    """
    return sql(
        """
        UPDATE jobs SET crashes = crashes - 1, silences = array_replace(silences, CAST(:fence AS bigint), -:fence),
            run_at = CASE WHEN condemned_until IS NOT NULL THEN clock_timestamp() ELSE run_at END,
            condemned_until = NULL
        WHERE id = :id AND tenant_id = :tenant AND :fence = ANY(silences) AND state IN ('queued', 'running')
        RETURNING id
        """,
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
    )


def hand_back(held: Held) -> Statement:
    """Queue a running job again because its worker is stopping, which does not count as a crash."""
    return statement(
        """
        UPDATE jobs SET state = 'queued', lease_until = NULL, notified_at = NULL, alone = false
        WHERE id = :id AND tenant_id = :tenant AND fence = :fence AND state = 'running' RETURNING kind
        """,
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
    )


def append_event(held: Held, type: str, data: Mapping[str, JsonValue]) -> Statement:
    """Append one event of a running job; no row when it is fenced off."""
    return statement(
        """
        WITH job AS (
            UPDATE jobs SET last_seq = last_seq + 1
            WHERE id = :id AND tenant_id = :tenant AND fence = :fence AND state = 'running'
            RETURNING tenant_id, id, last_seq, fence
        )
        INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
        SELECT tenant_id, id, last_seq, :type, fence, CAST(:data AS jsonb) FROM job RETURNING seq
        """,
        id=held.id,
        tenant=held.tenant_id,
        fence=held.fence,
        type=type,
        json__data=data,
    )


def add_forms(held: Held, forms: Mapping[str, tuple[str, bytes]]) -> Executable:
    """Insert all forms in one statement: name to media type and content."""
    rows = [
        {"tenant_id": held.tenant_id, "job_id": held.id, "name": name, "media_type": media_type, "body": body}
        for name, (media_type, body) in forms.items()
    ]
    return job_forms.insert().values(rows)


# --- the client's ----------------------------------------------------------------------------------------------------


def cancel(job_id: str, tenant: str) -> TextClause:
    """Request cancellation: a queued job ends at once, a running one at its worker's next heartbeat.

    No row when the job has ended or is not the tenant's.
    """
    return sql(_CANCEL.format(chosen="id = :id AND tenant_id = :tenant", columns="*"), id=job_id, tenant=tenant)


def cancel_all(job_ids: Sequence[str], tenant: str) -> TextClause:
    """Request the cancellation of many: id and state of each that has not ended and is the tenant's."""
    chosen = "tenant_id = :tenant AND id IN (SELECT id FROM locked)"
    # In one order, so that two who cancel the same jobs do not wait for each other in a circle.
    locked = """
        WITH locked AS (
            SELECT id FROM jobs WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS text[]))
              AND state IN ('queued', 'running') ORDER BY id FOR UPDATE
        ),"""
    statement = _CANCEL.format(chosen=chosen, columns="id, state").strip().removeprefix("WITH")
    return sql(locked + statement, ids=list(job_ids), tenant=tenant)


_CANCEL = """
    WITH job AS (
        UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()),
            state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,
            finished_at = CASE state WHEN 'queued' THEN clock_timestamp() END,
            last_seq = last_seq + CASE state WHEN 'queued' THEN 1 ELSE 0 END
        WHERE {chosen} AND state IN ('queued', 'running')
        RETURNING *
    ), event AS (
        INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
        SELECT tenant_id, id, last_seq, 'job_cancelled', fence, '{{}}' FROM job WHERE state = 'cancelled'
    )
    SELECT {columns} FROM job
"""


# --- the reconciler's ------------------------------------------------------------------------------------------------


def reclaim(
    crashes_until_dead: int, silences_until_dead: int, wait_seconds: float, detail: Mapping[str, JsonValue]
) -> TextClause:
    """Take back the jobs of every worker that let a lease run out: queued again, or dead with ``detail`` as its error.

    A silent worker has crashed, or gets no processor. So a job with too many crashes is not dead at once: it is held
    back for ``wait_seconds``, in which a worker that lives takes its crash back (``came_back``), and then ``bury``
    ends it. One that silenced its workers ``silences_until_dead`` times is dead whether they came back or not.

    A crash counts for the job that the worker ran alone. When it ran several, each of them may have killed it: they
    become suspects, which count no crash and run alone from then on. (A worker renews all leases at once, so the
    others of a silent one may be taken before their time; the fence keeps a late write out.)
    """
    return sql(
        """
        WITH held AS (
            SELECT tenant_id, id, worker_id, alone FROM jobs WHERE state = 'running' AND worker_id IN (
                SELECT worker_id FROM jobs WHERE state = 'running' AND lease_until < statement_timestamp())
            FOR UPDATE SKIP LOCKED
        ), blamed AS (
            SELECT tenant_id, id, alone OR count(*) OVER worker = 1 AS crashed,
                   bool_or(alone) OVER worker AS culprit_known
            FROM held WINDOW worker AS (PARTITION BY worker_id)
        ), next AS (
            SELECT b.*, CASE WHEN j.cancel_requested_at IS NOT NULL THEN 'cancelled'
                             WHEN crashed AND cardinality(j.silences) + 1 >= :silent THEN 'dead'
                             ELSE 'queued' END AS state,
                   crashed AND j.crashes + 1 >= :most AND j.cancel_requested_at IS NULL AS condemned
            FROM blamed b JOIN jobs j USING (tenant_id, id)
        ), job AS (
            UPDATE jobs SET crashes = crashes + crashed::int, notified_at = NULL, alone = false,
                silences = CASE WHEN crashed THEN silences || fence ELSE silences END,
                lease_until = NULL,
                condemned_until = CASE WHEN condemned AND next.state = 'queued'
                                       THEN clock_timestamp() + make_interval(secs => :wait) END,
                run_at = CASE WHEN condemned AND next.state = 'queued'
                              THEN clock_timestamp() + make_interval(secs => :wait + 3600) ELSE run_at END,
                suspect = suspect OR NOT (crashed OR culprit_known), state = next.state,
                error = CASE next.state WHEN 'dead' THEN CAST(:error AS jsonb) END,
                finished_at = CASE next.state WHEN 'queued' THEN NULL ELSE clock_timestamp() END,
                last_seq = last_seq + (next.state <> 'queued')::int
            FROM next WHERE jobs.tenant_id = next.tenant_id AND jobs.id = next.id
            RETURNING jobs.tenant_id, jobs.id, kind, jobs.state, last_seq, fence, suspect
        ), event AS (
            INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
            SELECT tenant_id, id, last_seq, 'job_' || state, fence,
                   CASE state WHEN 'dead' THEN '{"code": "worker_crashed"}'::jsonb ELSE '{}'::jsonb END
            FROM job WHERE state <> 'queued'
        )
        SELECT id, kind, state, suspect FROM job
        """,
        most=crashes_until_dead,
        silent=silences_until_dead,
        wait=wait_seconds,
        json__error=detail,
    )


def bury(detail: Mapping[str, JsonValue]) -> TextClause:
    """End the jobs whose last wait is over and whose workers did not come back, with ``detail`` as their error."""
    return sql(
        """
        WITH job AS (
            UPDATE jobs SET state = 'dead', error = CAST(:error AS jsonb), finished_at = clock_timestamp(),
                condemned_until = NULL, last_seq = last_seq + 1
            WHERE condemned_until < statement_timestamp() AND state = 'queued'
            RETURNING tenant_id, id, kind, state, last_seq, fence, suspect
        ), event AS (
            INSERT INTO job_events (tenant_id, job_id, seq, type, fence, data)
            SELECT tenant_id, id, last_seq, 'job_dead', fence, '{"code": "worker_crashed"}'::jsonb FROM job
        )
        SELECT id, kind, state, suspect FROM job
        """,
        json__error=detail,
    )
