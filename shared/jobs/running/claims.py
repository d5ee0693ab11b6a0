"""Claims of one worker: one statement for each kind claims jobs for all threads that are free at that moment."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from shared.db import reason_of
from shared.jobs import metrics
from shared.jobs.record import driver, statements
from shared.jobs.record.driver import Values
from shared.jobs.running.combined import CombinedCalls
from shared.llm.broker_client import digest_of

log = structlog.get_logger(__name__)

MAX_TOGETHER = 50


@dataclass(frozen=True)
class Claimed:
    """A job that is running under a lease from now on."""

    row: Values
    secret: str = field(repr=False)  #: lets the broker call models for this run


class Claims:
    """Claims for one worker. Safe to call from many threads."""

    def __init__(self, engine: Engine, worker_id: str, lease_seconds: float, tenant_running: int) -> None:
        self._engine = engine
        self._worker_id = worker_id
        self._lease_seconds = lease_seconds
        self._tenant_running = tenant_running
        self._of_kind: dict[str, CombinedCalls[None, Claimed | None]] = {}

    def next(self, kind: str) -> Claimed | None:
        """Claim the next job of a kind; None when nothing is queued. Raises: SQLAlchemyError."""
        with metrics.job_claim_seconds.labels(kind).time():
            if kind not in self._of_kind:
                self._of_kind.setdefault(kind, CombinedCalls(partial(self._claim, kind), MAX_TOGETHER))
            return self._of_kind[kind](None)

    def _claim(self, kind: str, requests: Sequence[None]) -> Sequence[Claimed | None]:
        claimed: list[Claimed] = []
        try:
            while missing := len(requests) - len(claimed):
                some = self._claim_some(kind, missing)
                if not some:
                    break
                claimed += some
        except SQLAlchemyError as fault:
            if not claimed:
                raise
            # Those that run under a lease have to be run; for the others the reconciler notifies again.
            log.warning("claim_failed", kind=kind, reason=reason_of(fault))
        return [*claimed, *[None] * (len(requests) - len(claimed))]

    def _claim_some(self, kind: str, limit: int) -> Sequence[Claimed]:
        """Claim for the tenants whose turn it is; more may be left where it is another tenant's turn after them."""
        given = {digest_of(secret): secret for secret in (secrets.token_urlsafe(24) for _ in range(limit))}
        statement = statements.claim(kind, self._worker_id, self._lease_seconds, self._tenant_running, *given)
        return [Claimed(row, given[row["model_digest"]]) for row in driver.all_rows(self._engine, statement)]
