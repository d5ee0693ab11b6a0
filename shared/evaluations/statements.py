"""Statements of evaluations. The runs of an evaluation are begun and scored only under the lock of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from shared.jobs.record.prepared import sql

Row = Mapping[str, Any] | RowMapping
_VIEW = "id, name, variants, repeat, budget, state, actor, created_at, finished_at"


def create(row: Mapping[str, Any]) -> TextClause:
    """Insert an evaluation with all its runs; gives ``created_at``. ``cases`` is their number."""
    names = ("id", "tenant_id", "name", "suite", "variants", "repeat", "budget", "concurrency", "priority", "actor")
    statement = text(
        """
        WITH evaluation AS (
            INSERT INTO evaluations (id, tenant_id, name, suite, variants, repeat, budget, concurrency, priority,
                                     actor, request_id)
            VALUES (:id, :tenant_id, :name, :suite, :variants, :repeat, :budget, :concurrency, :priority,
                    :actor, :request_id)
            RETURNING created_at
        ), run AS (
            INSERT INTO evaluation_runs (evaluation_id, tenant_id, repetition, case_number, variant_number)
            SELECT :id, :tenant_id, repetition, case_number, variant_number
            FROM generate_series(1, :repeat) repetition, generate_series(0, :cases - 1) case_number,
                 generate_series(0, jsonb_array_length(:variants) - 1) variant_number
        )
        SELECT created_at FROM evaluation
        """
    ).bindparams(*(bindparam(name, type_=JSONB) for name in ("suite", "variants", "budget")))
    return statement.bindparams(
        **{name: row[name] for name in names}, request_id=row.get("request_id"), cases=row["cases"]
    )


def open_of(tenant: str) -> TextClause:
    """Select the number of the tenant's unfinished evaluations."""
    return sql("SELECT count(*) FROM evaluations WHERE open AND NOT grows AND tenant_id = :tenant", tenant=tenant)


def find(id: str, tenant: str, *, suite: bool = False) -> TextClause:
    columns = f"{_VIEW}, suite" if suite else f"{_VIEW}, jsonb_path_query_array(suite, '$.cases[*].name') AS cases"
    return sql(
        f"SELECT {columns} FROM evaluations WHERE id = :id AND tenant_id = :tenant",  # noqa: S608 - ours
        id=id,
        tenant=tenant,
    )


def page(tenant: str, name: str | None, limit: int, before: tuple[datetime, str] | None) -> TextClause:
    """Newest first; with ``name`` those of one suite."""
    at, id = before or (None, None)
    return sql(
        f"""
        SELECT {_VIEW} FROM evaluations
        WHERE tenant_id = :tenant AND (CAST(:name AS text) IS NULL OR name = :name)
          AND (CAST(:id AS text) IS NULL OR (created_at, id) < (CAST(:at AS timestamptz), :id))
        ORDER BY created_at DESC, id DESC LIMIT :most
        """,  # noqa: S608 - ours
        tenant=tenant,
        name=name,
        at=at,
        id=id,
        most=limit,
    )


def runs(ids: Sequence[str], tenant: str) -> TextClause:
    """Select every run of these evaluations, in the order in which they start."""
    return sql(
        """
        SELECT evaluation_id, repetition, case_number, variant_number, state, job_id, success, cause, detail, turns,
               tokens, cost_usd, seconds
        FROM evaluation_runs WHERE evaluation_id = ANY(:ids) AND tenant_id = :tenant
        ORDER BY evaluation_id, repetition, case_number, variant_number
        """,
        texts__ids=list(ids),
        tenant=tenant,
    )


def totals(ids: Sequence[str], tenant: str) -> TextClause:
    """Per evaluation and variant, what its runs came to."""
    return sql(
        """
        SELECT evaluation_id, variant_number, count(*) AS runs, count(*) FILTER (WHERE state = 'pending') AS pending,
               count(*) FILTER (WHERE state = 'running') AS running,
               count(*) FILTER (WHERE state IN ('finished', 'skipped')) AS ended,
               count(*) FILTER (WHERE state = 'finished') AS finished, count(*) FILTER (WHERE success) AS successes,
               coalesce(sum(tokens) FILTER (WHERE state = 'finished'), 0)::bigint AS tokens,
               CASE WHEN bool_and(cost_usd IS NOT NULL) FILTER (WHERE state = 'finished')
                    THEN sum(cost_usd) FILTER (WHERE state = 'finished') END AS cost_usd,
               avg(turns) FILTER (WHERE state = 'finished')::float AS turns,
               avg(seconds) FILTER (WHERE state = 'finished') AS seconds
        FROM evaluation_runs WHERE evaluation_id = ANY(:ids) AND tenant_id = :tenant
        GROUP BY evaluation_id, variant_number ORDER BY evaluation_id, variant_number
        """,
        texts__ids=list(ids),
        tenant=tenant,
    )


def cancel(id: str, tenant: str) -> TextClause:
    """Start no further run; a row if that changed anything. Waits for a process that is starting runs."""
    return sql(
        """
        UPDATE evaluations SET state = 'cancelled'
        WHERE id = :id AND tenant_id = :tenant AND state = 'running' RETURNING id
        """,
        id=id,
        tenant=tenant,
    )


def running_jobs(id: str, tenant: str) -> TextClause:
    return sql(
        "SELECT job_id FROM evaluation_runs WHERE evaluation_id = :id AND tenant_id = :tenant AND state = 'running'",
        id=id,
        tenant=tenant,
    )


def wait_for(id: str, tenant: str) -> TextClause:
    """Wait for the step that a reconciler is at: a statement that waited itself would see the runs of before it."""
    return sql("SELECT state FROM evaluations WHERE id = :id AND tenant_id = :tenant FOR UPDATE", id=id, tenant=tenant)


def resume(id: str, tenant: str, budget: Mapping[str, Any] | None) -> TextClause:
    """Resume an evaluation that was cancelled or whose budget was spent; a row if it could be resumed.

    In the transaction of ``wait_for``.
    """
    return sql(
        """
        WITH before AS (
            SELECT id, state FROM evaluations
            WHERE id = :id AND tenant_id = :tenant AND state IN ('cancelled', 'budget_spent') FOR UPDATE
        ), evaluation AS (
            UPDATE evaluations SET state = 'running', open = true, finished_at = NULL,
                                   budget = coalesce(:budget, budget)
            WHERE id IN (SELECT id FROM before) AND tenant_id = :tenant RETURNING id
        ), run AS (
            UPDATE evaluation_runs SET state = 'pending', job_id = NULL, success = NULL, cause = NULL, detail = NULL,
                                       turns = NULL, tokens = NULL, cost_usd = NULL, seconds = NULL
            WHERE evaluation_id IN (SELECT id FROM evaluation) AND tenant_id = :tenant
              AND (state = 'skipped' OR cause = 'cancelled'
                   -- Its job was told to stop, and has not yet.
                   OR (state = 'running' AND (SELECT state FROM before) = 'cancelled'))
        )
        SELECT id FROM evaluation
        """,
        id=id,
        tenant=tenant,
        json__budget=budget,
    )


def estimate(tenant: str, kinds: Sequence[str]) -> TextClause:
    """Per kind, the mean of what the tenant's jobs of the last 30 days took, and how many there were."""
    return sql(
        """
        SELECT kind, count(*) AS jobs, avg(coalesce((usage->>'input_tokens')::float, 0)
                                           + coalesce((usage->>'output_tokens')::float, 0)) AS tokens,
               avg((usage->>'cost_usd')::float) AS cost_usd
        FROM (SELECT kind, usage FROM jobs WHERE tenant_id = :tenant AND kind = ANY(:kinds) AND state = 'succeeded'
                AND created_at > clock_timestamp() - interval '30 days' AND (usage->>'llm_calls')::int > 0
              ORDER BY created_at DESC LIMIT 1000) AS lately
        GROUP BY kind
        """,
        tenant=tenant,
        texts__kinds=list(kinds),
    )


# --- the reconciler's ------------------------------------------------------------------------------------------------


def open_evaluations(limit: int) -> TextClause:
    """Id and tenant."""
    return sql("SELECT id, tenant_id FROM evaluations WHERE open ORDER BY created_at LIMIT :most", most=limit)


def suite_of(id: str) -> TextClause:
    return sql("SELECT suite FROM evaluations WHERE id = :id", id=id)


def lock(id: str) -> TextClause:
    """Select the evaluation, locked; no row when another process has it, or when it is finished."""
    return sql(
        """
        SELECT id, tenant_id, name, state, suite, variants, budget, concurrency, priority, actor, request_id, grows
        FROM evaluations WHERE id = :id AND open FOR UPDATE SKIP LOCKED
        """,
        id=id,
    )


def ended_runs(id: str, limit: int) -> TextClause:
    """Select runs whose job has ended, or was deleted (``job_state`` null), with their usage."""
    return sql(
        """
        SELECT r.repetition, r.case_number, r.variant_number, r.job_id, j.kind, j.state AS job_state, j.result,
               j.error, j.usage, extract(epoch FROM j.finished_at - coalesce(j.started_at, j.finished_at))::float
               AS seconds, (SELECT count(DISTINCT (job_attempt, turn)) FROM llm_calls c
                WHERE c.tenant_id = r.tenant_id AND c.job_id = r.job_id)
               AS turns
        FROM evaluation_runs r LEFT JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
        WHERE r.evaluation_id = :id AND r.state = 'running' AND (j.id IS NULL OR j.finished_at IS NOT NULL)
        LIMIT :most
        """,
        id=id,
        most=limit,
    )


def end_run(id: str, run: Row, outcome: Mapping[str, Any]) -> TextClause:
    """Store a run's outcome."""
    return sql(
        """
        UPDATE evaluation_runs SET state = 'finished', success = :success, cause = :cause, detail = :detail,
               turns = :turns, tokens = :tokens, cost_usd = :cost_usd, seconds = :seconds
        WHERE evaluation_id = :id AND repetition = :repetition AND case_number = :case_number
          AND variant_number = :variant_number AND state = 'running'
        """,
        id=id,
        **{name: run[name] for name in ("repetition", "case_number", "variant_number")},
        **{name: outcome[name] for name in ("success", "cause", "detail", "turns", "tokens", "cost_usd", "seconds")},
    )


def standing(id: str) -> TextClause:
    """Select how many runs are ``pending`` and ``running``, and the usage of those that have ended."""
    return sql(
        """
        SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
               count(*) FILTER (WHERE state = 'running') AS running,
               count(*) FILTER (WHERE state = 'finished' AND cost_usd IS NULL) AS unpriced,
               coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost_usd), 0) AS cost_usd
        FROM evaluation_runs WHERE evaluation_id = :id
        """,
        id=id,
    )


def pending_runs(id: str, limit: int) -> TextClause:
    """Select the next runs: all cases and variants of one repetition before the next repetition."""
    return sql(
        """
        SELECT repetition, case_number, variant_number FROM evaluation_runs
        WHERE evaluation_id = :id AND state = 'pending'
        ORDER BY repetition, case_number, variant_number LIMIT :most
        """,
        id=id,
        most=limit,
    )


def begin_run(id: str, run: Row, job_id: str) -> TextClause:
    return sql(
        """
        UPDATE evaluation_runs SET state = 'running', job_id = :job_id
        WHERE evaluation_id = :id AND repetition = :repetition AND case_number = :case_number
          AND variant_number = :variant_number
        """,
        id=id,
        job_id=job_id,
        **{name: run[name] for name in ("repetition", "case_number", "variant_number")},
    )


def skip_pending(id: str, cause: str) -> TextClause:
    return sql(
        """
        UPDATE evaluation_runs SET state = 'skipped', cause = :cause
        WHERE evaluation_id = :id AND state = 'pending'
        """,
        id=id,
        cause=cause,
    )


def set_state(id: str, state: str) -> TextClause:
    return sql("UPDATE evaluations SET state = :state WHERE id = :id", id=id, state=state)


def close(id: str) -> TextClause:
    """Close the evaluation, which is finished."""
    return sql("UPDATE evaluations SET open = false, finished_at = clock_timestamp() WHERE id = :id", id=id)
