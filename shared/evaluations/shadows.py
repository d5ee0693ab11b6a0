"""Statements of shadows. Jobs are chosen, and made cases of an evaluation, under the lock of the shadow's row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from shared.contracts.evaluations import RUN_LABEL
from shared.jobs.record.prepared import sql

Row = Mapping[str, Any] | RowMapping
#: How late a job's row may become visible after its ``created_at``: an insert takes milliseconds to commit.
_SETTLED = "interval '2 seconds'"
_VIEW = """s.id, s.kind, s.model, s.prompt, s.share, s.tokens_per_day, s.state, s.passed_over, s.actor, s.created_at,
    s.stopped_at"""
_SPENT = """(SELECT coalesce(sum(r.tokens), 0)::bigint FROM evaluations e
    JOIN evaluation_runs r ON r.tenant_id = e.tenant_id AND r.evaluation_id = e.id AND r.variant_number = 1
    JOIN jobs j ON j.tenant_id = r.tenant_id AND j.id = r.job_id
    WHERE e.tenant_id = s.tenant_id AND e.shadow_id = s.id
      AND j.created_at > clock_timestamp() - interval '24 hours')"""


def create(row: Row) -> TextClause:
    names = ("id", "tenant_id", "kind", "model", "prompt", "share", "tokens_per_day", "actor", "request_id")
    columns = ", ".join(names)
    values = ", ".join(f":{name}" for name in names)
    return text(f"INSERT INTO shadows ({columns}) VALUES ({values})").bindparams(  # noqa: S608 - ours
        **{name: row[name] for name in names}
    )


def running_of(tenant: str) -> TextClause:
    return sql("SELECT count(*) FROM shadows WHERE tenant_id = :tenant AND state = 'running'", tenant=tenant)


def find(id: str, tenant: str) -> TextClause:
    return sql(
        f"SELECT {_VIEW}, {_SPENT} AS tokens_today FROM shadows s WHERE id = :id AND tenant_id = :tenant",  # noqa: S608
        id=id,
        tenant=tenant,
    )


def page(tenant: str, limit: int, before: tuple[datetime, str] | None) -> TextClause:
    """Newest first."""
    at, id = before or (None, None)
    return sql(
        f"""
        SELECT {_VIEW}, {_SPENT} AS tokens_today FROM shadows s
        WHERE tenant_id = :tenant
          AND (CAST(:id AS text) IS NULL OR (created_at, id) < (CAST(:at AS timestamptz), :id))
        ORDER BY created_at DESC, id DESC LIMIT :most
        """,  # noqa: S608 - ours
        tenant=tenant,
        at=at,
        id=id,
        most=limit,
    )


def evaluations(id: str, tenant: str, limit: int) -> TextClause:
    """Select a shadow's comparisons, newest first."""
    return sql(
        """
        SELECT id, name, variants, repeat, budget, state, actor, created_at, finished_at FROM evaluations
        WHERE shadow_id = :id AND tenant_id = :tenant ORDER BY created_at DESC, id DESC LIMIT :most
        """,
        id=id,
        tenant=tenant,
        most=limit,
    )


def stop(id: str, tenant: str) -> TextClause:
    """Choose no further job; its evaluation ends with the runs that it has. A row when it ran."""
    return sql(
        """
        WITH shadow AS (
            UPDATE shadows SET state = 'stopped', stopped_at = clock_timestamp(), waiting = '[]'
            WHERE id = :id AND tenant_id = :tenant AND state = 'running' RETURNING id
        ), evaluation AS (
            UPDATE evaluations SET grows = false
            WHERE shadow_id IN (SELECT id FROM shadow) AND tenant_id = :tenant AND grows
        )
        SELECT id FROM shadow
        """,
        id=id,
        tenant=tenant,
    )


# --- the reconciler's ------------------------------------------------------------------------------------------------


def running(limit: int) -> TextClause:
    return sql("SELECT id FROM shadows WHERE state = 'running' ORDER BY id LIMIT :most", most=limit)


def lock(id: str) -> TextClause:
    """Select the shadow, locked; no row when another process has it, or when it was stopped."""
    return sql(
        f"""
        SELECT s.*, {_SPENT} AS tokens_today FROM shadows s
        WHERE id = :id AND state = 'running' FOR UPDATE OF s SKIP LOCKED
        """,  # noqa: S608 - ours
        id=id,
    )


def begun_after(shadow: Row, limit: int) -> TextClause:
    """Select the tenant's next jobs in the order of submission."""
    return sql(
        f"""
        SELECT id, created_at, kind, labels ? '{RUN_LABEL}' AS evaluated FROM jobs
        WHERE tenant_id = :tenant AND (created_at, id) > (CAST(:at AS timestamptz), :id)
          AND created_at <= clock_timestamp() - {_SETTLED}
        ORDER BY created_at, id LIMIT :most
        """,  # noqa: S608 - ours
        tenant=shadow["tenant_id"],
        at=shadow["seen_at"],
        id=shadow["seen_id"],
        most=limit,
    )


def ended(ids: Sequence[str], tenant: str) -> TextClause:
    """Select the jobs that have ended, with everything that a case needs."""
    return sql(
        """
        SELECT id, kind, state, input, result, budget, usage FROM jobs
        WHERE id = ANY(:ids) AND tenant_id = :tenant AND finished_at IS NOT NULL ORDER BY id
        """,
        texts__ids=list(ids),
        tenant=tenant,
    )


def still_there(ids: Sequence[str], tenant: str) -> TextClause:
    """Select the jobs that have not ended and are at most a day old."""
    return sql(
        """
        SELECT id FROM jobs WHERE id = ANY(:ids) AND tenant_id = :tenant AND finished_at IS NULL
          AND created_at > clock_timestamp() - interval '24 hours' ORDER BY id
        """,
        texts__ids=list(ids),
        tenant=tenant,
    )


def remember(id: str, seen: tuple[datetime, str], waiting: Sequence[str], passed: Mapping[str, int]) -> TextClause:
    return text(
        """
        UPDATE shadows SET seen_at = :at, seen_id = :seen_id, waiting = :waiting, passed_over = :passed WHERE id = :id
        """
    ).bindparams(
        bindparam("waiting", list(waiting), type_=JSONB),
        bindparam("passed", dict(passed), type_=JSONB),
        id=id,
        at=seen[0],
        seen_id=seen[1],
    )


def growing(shadow: Row) -> TextClause:
    """Select the shadow's evaluation that takes cases, locked, with the number of its cases and running runs."""
    return sql(
        """
        SELECT id, jsonb_array_length(suite->'cases') AS cases,
               (SELECT count(*) FROM evaluation_runs r
                WHERE r.tenant_id = e.tenant_id AND r.evaluation_id = e.id AND r.variant_number = 1
                AND r.state IN ('pending', 'running')) AS under_way
        FROM evaluations e WHERE shadow_id = :id AND tenant_id = :tenant AND grows AND state = 'running' AND open
        ORDER BY created_at DESC LIMIT 1 FOR UPDATE OF e
        """,
        id=shadow["id"],
        tenant=shadow["tenant_id"],
    )


def begin(shadow: Row, row: Row) -> TextClause:
    """Insert an evaluation without cases."""
    return text(
        """
        INSERT INTO evaluations (id, tenant_id, name, suite, variants, repeat, budget, concurrency, priority, actor,
                                 request_id, shadow_id, grows)
        VALUES (:id, :tenant, :name, :suite, :variants, 1, '{}', :concurrency, 0, :actor, :request_id, :shadow, true)
        """
    ).bindparams(
        bindparam("suite", row["suite"], type_=JSONB),
        bindparam("variants", row["variants"], type_=JSONB),
        id=row["id"],
        tenant=shadow["tenant_id"],
        name=row["name"],
        concurrency=row["concurrency"],
        actor=shadow["actor"],
        request_id=shadow["request_id"],
        shadow=shadow["id"],
    )


def add_case(evaluation: str, tenant: str, number: int, case: Mapping[str, Any], live_job: str) -> TextClause:
    """Insert the case, the run of the live job (scored like any other), and the run to start."""
    return text(
        """
        WITH evaluation AS (
            UPDATE evaluations SET suite = jsonb_set(suite, '{cases}', (suite->'cases') || jsonb_build_array(:case))
            WHERE id = :id
        )
        INSERT INTO evaluation_runs (evaluation_id, tenant_id, repetition, case_number, variant_number, state, job_id)
        VALUES (:id, :tenant, 1, :number, 0, 'running', :job), (:id, :tenant, 1, :number, 1, 'pending', NULL)
        """
    ).bindparams(bindparam("case", dict(case), type_=JSONB), id=evaluation, tenant=tenant, number=number, job=live_job)


def close(evaluation: str) -> TextClause:
    """Close the evaluation for further cases."""
    return sql("UPDATE evaluations SET grows = false WHERE id = :id", id=evaluation)
