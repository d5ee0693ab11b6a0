"""Shadows choose jobs, and make cases of them once they have ended; the evaluation they go to runs like any other.

Every step is one transaction under the lock of the shadow's row: a reconciler that is killed anywhere leaves either all
of a step or nothing of it, so no job is done again twice. Whether a job is chosen follows from its id alone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import Connection, Engine, RowMapping
from sqlalchemy.exc import SQLAlchemyError
from uuid_utils import uuid7

from shared.contracts.evaluations import MAX_CASES, Case
from shared.evaluations import shadows as statements
from shared.kinds import case_name, case_rules

log = structlog.get_logger(__name__)

_MAX_SHADOWS, _MAX_SEEN, _MAX_WAITING = 200, 500, 100
_AT_ONCE = 2  #: runs of a shadow: it may be late, and must not be in the way
_MAX_IN_ONE = min(100, MAX_CASES)  #: each added case rewrites the suite
_MAX_BYTES = 64 * 1024  #: of a case
_NAME = 80
Row = Mapping[str, Any] | RowMapping


def sample_all(engine: Engine) -> None:
    """Do one step of every running shadow."""
    with engine.connect() as connection:
        ids = list(connection.execute(statements.running(_MAX_SHADOWS)).scalars())
    for id in ids:
        try:
            with engine.begin() as connection:
                shadow = connection.execute(statements.lock(id)).mappings().one_or_none()
                if shadow is not None:
                    _step(connection, shadow)
        except SQLAlchemyError:
            raise
        except Exception:  # one shadow must not hold up the others
            log.exception("shadow_postponed", shadow_id=id)


def is_chosen(shadow: str, job: str, share: float) -> bool:
    """Return whether the job is in the sample: always the same for a job, and independent of other shadows."""
    digest = hashlib.sha256(f"{shadow} {job}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


def _step(connection: Connection, shadow: Row) -> None:
    passed: Counter[str] = Counter(shadow["passed_over"])
    jobs = connection.execute(statements.begun_after(shadow, _MAX_SEEN)).mappings().all()
    chosen = [
        job["id"]
        for job in jobs
        if job["kind"] == shadow["kind"]
        and not job["evaluated"]
        and is_chosen(shadow["id"], job["id"], shadow["share"])
    ]
    waiting = [*shadow["waiting"], *chosen]
    if not jobs and not waiting:
        return
    ended = connection.execute(statements.ended(waiting, shadow["tenant_id"])).mappings().all()
    left = list(connection.execute(statements.still_there(waiting, shadow["tenant_id"])).scalars())
    passed["behind"] += max(0, len(left) - _MAX_WAITING)
    seen = (jobs[-1]["created_at"], jobs[-1]["id"]) if jobs else (shadow["seen_at"], shadow["seen_id"])
    passed.update(_Cases(connection, shadow).add(ended))
    connection.execute(statements.remember(shadow["id"], seen, left[-_MAX_WAITING:], +passed))


class _Cases:
    """The evaluation that takes the cases; a new one when there is none yet, or it is full."""

    def __init__(self, connection: Connection, shadow: Row) -> None:
        self._connection = connection
        self._shadow = shadow
        growing = connection.execute(statements.growing(shadow)).mappings().one_or_none()
        self._id: str | None = None if growing is None else growing["id"]
        self._cases = 0 if growing is None else growing["cases"]
        self._under_way = 0 if growing is None else growing["under_way"]

    def add(self, jobs: Iterable[Row]) -> Counter[str]:
        """Add the jobs as cases; return why jobs were skipped, and how many."""
        passed: Counter[str] = Counter()
        for job in jobs:
            cause = self._cause(job)
            case = None if cause else case_from({**job})
            if case is None:
                passed[cause or "unfit"] += 1
            else:
                self._add(job, case)
        return passed

    def _cause(self, job: Row) -> str | None:
        if not (job["usage"] or {}).get("llm_calls") or job["state"] not in ("succeeded", "failed"):
            return "unanswered"  # by a model: there is nothing to compare
        if self._shadow["tokens_today"] >= self._shadow["tokens_per_day"]:
            return "budget"
        return "behind" if self._under_way >= _AT_ONCE else None

    def _add(self, job: Row, case: Mapping[str, Any]) -> None:
        if self._id is not None and self._cases >= _MAX_IN_ONE:
            self._connection.execute(statements.close(self._id))
            self._id = None
        if self._id is None:
            self._id = self._begin()
        tenant = self._shadow["tenant_id"]
        self._connection.execute(statements.add_case(self._id, tenant, self._cases, case, job["id"]))
        self._cases += 1
        self._under_way += 1

    def _begin(self) -> str:
        shadow, self._cases = self._shadow, 0
        name = f"shadow of {shadow['kind']}"
        other = {"name": "shadow", "model": shadow["model"], "prompt": shadow["prompt"]}
        row = {
            "id": str(uuid7()),
            "name": name,
            "suite": {"name": name, "cases": []},
            "variants": [{"name": "live", "model": None, "prompt": None}, other],
            "concurrency": _AT_ONCE,
        }
        self._connection.execute(statements.begin(shadow, row))
        return str(row["id"])


def case_from(job: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the job as a case, with its answer as the expectation; None when it is too large, or cannot be one."""
    rules = case_rules(job["kind"])
    name = f"{case_name(job, set())[:_NAME]} {job['id']}"
    try:
        case = rules.as_run(Case.model_validate(rules.case_of(job, name, None)))
    except ValidationError:
        return None
    fields = case.model_dump(mode="json", exclude_unset=True)
    return fields if len(json.dumps(fields)) <= _MAX_BYTES else None
