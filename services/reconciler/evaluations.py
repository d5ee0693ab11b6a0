"""Progress of evaluations: runs become jobs, finished jobs are scored, and the last one ends the evaluation.

Results are compared in bounded processes, and then every step is one transaction under the lock of the evaluation's
row: a reconciler that is killed anywhere leaves either all of a step or nothing of it, so no run is started twice and
none is lost. What two reconcilers have compared is written once.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import structlog
from redis import Redis
from sqlalchemy import Connection, Engine, RowMapping
from sqlalchemy.exc import InterfaceError, OperationalError
from uuid_utils import uuid7

from shared.contracts.evaluations import RUN_LABEL, Case
from shared.evaluations import scoring, statements
from shared.evaluations.scoring import FinishedRun, Outcome, Used
from shared.jobs.delivery import notifications
from shared.jobs.record import submission

log = structlog.get_logger(__name__)

_MAX_OPEN, _MAX_SCORED = 200, 20
#: Of one round, for the results of one tenant: then the next tenant's are compared.
_SECONDS_OF_TENANT = 5.0
Row = Mapping[str, Any] | RowMapping


def advance_all(engine: Engine, redis: Redis) -> None:
    """Advance every evaluation that has something left to do."""
    with engine.connect() as connection:
        open_now = connection.execute(statements.open_evaluations(_MAX_OPEN)).all()
    spent: defaultdict[str, float] = defaultdict(float)
    for id, tenant in open_now:
        began = time.monotonic()
        try:
            advance(engine, redis, id, _SECONDS_OF_TENANT - spent[tenant])
        except (OperationalError, InterfaceError):  # Postgres is away
            raise
        except Exception:  # one evaluation must not hold up the others
            log.exception("evaluation_postponed", evaluation_id=id)
        spent[tenant] += time.monotonic() - began


def advance(engine: Engine, redis: Redis, id: str, seconds: float = _SECONDS_OF_TENANT) -> None:
    """Do one step of an evaluation, unless another process does. ``seconds``: the time to compare results."""
    ended = _scored(engine, id, seconds)
    begun: dict[str, list[str]] = {}
    with engine.begin() as connection:
        evaluation = connection.execute(statements.lock(id)).mappings().one_or_none()
        if evaluation is not None:
            for run, written in ended:
                connection.execute(statements.end_run(id, run, written))
            begun = _go_on(connection, evaluation)
    for kind, job_ids in begun.items():  # one that is lost is noticed like any other
        notifications.notify(redis, kind, *job_ids)


def _scored(engine: Engine, id: str, seconds: float) -> list[tuple[Row, dict[str, Any]]]:
    """Return runs whose job has ended, with their scores. No transaction is open while they are compared."""
    with engine.connect() as connection:
        runs = connection.execute(statements.ended_runs(id, _MAX_SCORED)).mappings().all()
        suite = connection.execute(statements.suite_of(id)).scalar_one() if runs else {"cases": []}
    ends = time.monotonic() + seconds
    scored: list[tuple[Row, dict[str, Any]]] = []
    for run in runs:
        if time.monotonic() > ends:
            break
        used = _used(run)
        outcome = _outcome(suite["cases"][run["case_number"]], run, used)
        written = {
            "success": outcome.success,
            "cause": outcome.cause,
            "detail": outcome.detail,
            "turns": used.turns,
            "tokens": used.tokens,
            "cost_usd": used.cost_usd,
            "seconds": used.seconds,
        }
        scored.append((run, written))
    return scored


def _used(run: Row) -> Used:
    usage = run["usage"] or {}
    tokens = int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
    free = not usage.get("llm_calls")
    return Used(run["turns"], tokens, 0.0 if free else usage.get("cost_usd"), run["seconds"] or 0.0)


def _outcome(case: Row, run: Row, used: Used) -> Outcome:
    if run["job_state"] is None:
        return Outcome(False, "job_deleted", "the job was deleted before it was scored")
    finished = FinishedRun(run["kind"], run["job_state"], run["result"], run["error"], used)
    return scoring.scored(case.get("expect") or {}, finished)


def _go_on(connection: Connection, evaluation: Row) -> dict[str, list[str]]:
    """Begin as many runs as may be in flight, or end the evaluation; the ids of new jobs by kind."""
    id, state = evaluation["id"], evaluation["state"]
    now = connection.execute(statements.standing(id)).mappings().one()
    pending = now["pending"]
    if pending and state == "running" and _is_spent(evaluation["budget"], now):
        state = "budget_spent"
        connection.execute(statements.set_state(id, state))
    if pending and state != "running":
        connection.execute(statements.skip_pending(id, state))
        pending = 0
    begun = _begin(connection, evaluation, evaluation["concurrency"] - now["running"]) if pending else {}
    if not pending and not now["running"] and not (evaluation["grows"] and state == "running"):
        if state == "running":
            connection.execute(statements.set_state(id, "finished"))
        connection.execute(statements.close(id))
        log.info("evaluation_ended", evaluation_id=id, state="finished" if state == "running" else state)
    return begun


def _is_spent(budget: Mapping[str, float | None], spent: Row) -> bool:
    """Return whether the budget is spent; a budget of money is, too, as soon as one run's cost is unknown."""
    if budget.get("cost_usd") is not None and spent["unpriced"]:
        return True
    return any(most is not None and spent[name] >= most for name, most in budget.items())


def _begin(connection: Connection, evaluation: Row, capacity: int) -> dict[str, list[str]]:
    begun: defaultdict[str, list[str]] = defaultdict(list)
    if capacity <= 0:
        return begun
    for run in connection.execute(statements.pending_runs(evaluation["id"], capacity)).mappings().all():
        job = job_of(evaluation, run)
        connection.execute(submission.submit(job))
        connection.execute(statements.begin_run(evaluation["id"], run, job["id"]))
        begun[job["kind"]].append(job["id"])
    return begun


def job_of(evaluation: Row, run: Row) -> dict[str, Any]:
    """Return the row of a run's job."""
    case = Case.model_validate(evaluation["suite"]["cases"][run["case_number"]])
    variant = evaluation["variants"][run["variant_number"]]
    overrides: dict[str, Any] = {"model": variant["model"]} if variant["model"] else {}
    if variant["prompt"]:
        key, _, version = variant["prompt"].rpartition("@")
        overrides["prompts"] = {key: int(version)}
    return {
        "id": str(uuid7()),
        "tenant_id": evaluation["tenant_id"],
        "kind": case.kind,
        "priority": evaluation["priority"],
        "input": case.input,
        "labels": {RUN_LABEL: evaluation["id"], "case": case.name, "variant": variant["name"]},
        "budget": {} if case.budget is None else case.budget.model_dump(exclude_none=True),
        "overrides": overrides,
        "conversation_id": str(uuid7()),
        "actor": evaluation["actor"],
        "request_id": evaluation["request_id"],
        "warnings": [],
    }
