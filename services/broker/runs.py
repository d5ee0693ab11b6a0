"""Which models a job's run may call: the database maps its token to the job, and knows the rest of its budget."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

from sqlalchemy import Engine, RowMapping

from shared.jobs.models import selector_of
from shared.jobs.record import statements
from shared.kinds import KINDS
from shared.llm.broker_client import digest_of
from shared.llm.chat import OnAttempt
from shared.llm.faults import BrokerRefused
from shared.llm.job import JobLlm, no_event
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner, tokens_of_run
from shared.loop import Budget

TRUSTED_SECONDS = 5.0  #: for which a run that was found is not looked up again
_KNOWN_RUNS = 10_000
_COUNTED_RUNS = 1000  #: whose repeated questions are counted, for recordings


@dataclass(frozen=True)
class AskingRun:
    """A run that may call models, as it is in the database now."""

    owner: Owner
    roles: frozenset[str]
    budget: Budget
    selector: tuple[str, ...]


class AskingRuns:
    """A token ends with its run, ``trusted_seconds`` later at the most; spent tokens are read for every question."""

    def __init__(
        self, engine: Engine, layer: LlmLayer, default_seconds: float, trusted_seconds: float = TRUSTED_SECONDS
    ) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._layer = layer
        self._default_seconds = default_seconds
        self._trusted_seconds = trusted_seconds
        self._known: OrderedDict[str, tuple[float, AskingRun]] = OrderedDict()  #: by token, with the time of reading
        self._counts: OrderedDict[Owner, dict[str, int]] = OrderedDict()
        self._lock = Lock()

    def of(self, token: str) -> AskingRun:
        """Return the run of a token. Raises: BrokerRefused for a token of no running job."""
        with self._lock:
            read_at, known = self._known.get(token, (0.0, None))
        if known is not None and time.monotonic() - read_at < self._trusted_seconds:
            return known
        run = self._read(token)
        if run.budget.tokens is None:
            with self._lock:
                self._known[token] = (time.monotonic(), run)
                while len(self._known) > _KNOWN_RUNS:
                    self._known.popitem(last=False)
        return run

    def _read(self, token: str) -> AskingRun:
        job_id, _, secret = token.partition(".")
        with self._engine.connect() as connection:
            statement = statements.asking_run(job_id, digest_of(secret))
            row = connection.execute(statement).mappings().one_or_none()
            if row is None or row["kind"] not in KINDS:
                raise BrokerRefused("The token is not that of a running job.")
            owner = Owner(row["tenant_id"], job_id, row["attempt"])
            spent = connection.scalar(tokens_of_run(owner)) if row["budget"].get("tokens") else 0
        roles = frozenset(role.name for role in KINDS[row["kind"]].roles)
        return AskingRun(owner, roles, self._budget(row, int(spent or 0)), selector_of(row["overrides"]))

    def models(self, run: AskingRun, on_attempt: OnAttempt, cancelled: Callable[[], bool]) -> JobLlm:
        """Return the models for one question of the run."""
        counts = self._counts_of(run.owner)
        models = self._layer.for_job(run.owner, run.budget, no_event, cancelled, run.selector, on_attempt, counts)
        return replace(models, shortens=False)

    def _budget(self, row: RowMapping, spent: int) -> Budget:
        seconds = (row["budget"].get("seconds") or self._default_seconds) - row["seconds"]
        return Budget(seconds=seconds, tokens=row["budget"].get("tokens"), tokens_spent=spent)

    def _counts_of(self, owner: Owner) -> dict[str, int]:
        with self._lock:
            counts = self._counts.setdefault(owner, {})
            self._counts.move_to_end(owner)
            while len(self._counts) > _COUNTED_RUNS:
                self._counts.popitem(last=False)
            return counts
