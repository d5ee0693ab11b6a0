"""What a tenant may use of models: which ones, by patterns of ``provider/model``, and how many tokens a day."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from sqlalchemy import Engine, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from shared.db import reason_of, writing
from shared.errors import DatabaseUnavailable, QuotaExceeded
from shared.llm.cached_value import MAX_AGE, Fresh
from shared.llm.chat import ChainLink, ProviderAttempt
from shared.llm.faults import ModelNotAllowed
from shared.llm.ledger import tokens_since
from shared.llm.tables import tenant_models

log = logging.getLogger(__name__)

Patterns = tuple[str, ...]
_TENANTS = 10_000  #: whose tokens are kept in memory
_OWN_LIMIT = text("SELECT tokens_per_day FROM tenant_limits WHERE tenant_id = :tenant")


class AllowedModels:
    """Safe to use from many threads; ``otherwise`` holds for tenants without a list, and without a database."""

    def __init__(self, engine: Engine | None, otherwise: Sequence[str] = ("*",)) -> None:
        self._engine = engine
        self._otherwise = tuple(otherwise)
        self._lists: Fresh[Mapping[str, Patterns]] = Fresh(self._read, {})

    def of(self, tenant: str) -> Patterns:
        return self._lists.get().get(tenant, self._otherwise)

    def is_own(self, tenant: str) -> bool:
        """Return whether the tenant has its own list."""
        return tenant in self._lists.get()

    def among(self, links: Sequence[ChainLink], tenant: str) -> tuple[ChainLink, ...]:
        """Return the links that the tenant may use. Raises: ModelNotAllowed when none of them is left."""
        patterns = self.of(tenant)
        allowed = tuple(link for link in links if any(_fits(link, pattern) for pattern in patterns))
        if links and not allowed:
            named = ", ".join(f"{link.provider}/{link.model}" for link in links)
            raise ModelNotAllowed(
                f"This tenant may use {', '.join(patterns) or 'no models'}; that leaves none of {named}. "
                "An administrator changes the list with PUT /v1/tenants/{id}/models."
            )
        return allowed

    def put(self, tenant: str, patterns: Sequence[str], actor: str | None = None) -> None:
        """Give the tenant its own list; every replica follows within two seconds."""
        statement = insert(tenant_models).values(tenant_id=tenant, allowed=list(patterns), actor=actor)
        changed = {"allowed": list(patterns), "actor": actor, "updated_at": func.clock_timestamp()}
        with writing(self._writable()) as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["tenant_id"], set_=changed))
        self._lists.expire()

    def remove(self, tenant: str) -> None:
        """Let the installation's list hold for the tenant again."""
        with writing(self._writable()) as connection:
            connection.execute(delete(tenant_models).where(tenant_models.c.tenant_id == tenant))
        self._lists.expire()

    def _writable(self) -> Engine:
        if self._engine is None:
            raise DatabaseUnavailable("Lists of models can only be changed where there is a database.")
        return self._engine

    def _read(self) -> Mapping[str, Patterns]:
        if self._engine is None:
            return {}
        with self._engine.connect() as connection:
            rows = connection.execute(select(tenant_models.c.tenant_id, tenant_models.c.allowed)).all()
        return {tenant: tuple(patterns) for tenant, patterns in rows}


@dataclass
class _Day:
    """A tenant's tokens of today, as Postgres counts them, and what was used here since."""

    read_at: float = -math.inf
    most: int = 0
    spent: int = 0
    #: One thread reads at a time: a count that another thread made meanwhile would be lost.
    lock: threading.Lock = field(default_factory=threading.Lock)


class DailyTokens:
    """Per-tenant daily budgets (UTC) of model tokens, enforced where models are called.

    ``most`` applies to tenants whose ``tenant_limits`` set nothing; 0 is unlimited.
    """

    def __init__(self, engine: Engine | None, most: int) -> None:
        self._engine = engine
        self._most = most
        self._days: dict[str, _Day] = {}

    def check(self, tenant: str) -> None:
        """Raise QuotaExceeded when the budget is spent; use by other processes counts up to a second late."""
        if self._engine is None:
            return
        if tenant not in self._days and len(self._days) >= _TENANTS:
            self._days.clear()
        day = self._days.setdefault(tenant, _Day(most=self._most))
        with day.lock:
            if time.monotonic() - day.read_at >= MAX_AGE:
                self._refresh(day, tenant, self._engine)
        if day.most and day.spent >= day.most:
            raise QuotaExceeded(
                f"The tenant has used {day.spent} of its {day.most} model tokens today. An administrator gives it "
                "more with `assay limits set`; the count restarts at midnight UTC.",
                quota="tokens_per_day",
                limit=day.most,
            )

    def count(self, tenant: str, attempt: ProviderAttempt) -> None:
        day = self._days.get(tenant)
        usage = attempt.usage if attempt.reply is None else attempt.reply.usage
        if day is not None and usage is not None and attempt.source != "replay":
            with day.lock:
                day.spent += usage.total

    def _refresh(self, day: _Day, tenant: str, engine: Engine) -> None:
        """Take the day's use from the database; while it is unreachable, this process's own count stays."""
        try:
            day.most, day.spent = self._read(tenant, engine)
        except SQLAlchemyError as error:
            log.warning("the database cannot be reached, tokens are counted per process: %s", reason_of(error))
        day.read_at = time.monotonic()

    def _read(self, tenant: str, engine: Engine) -> tuple[int, int]:
        """Return the tenant's tokens for a day, and those that it has used today."""
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        with engine.connect() as connection:
            own = connection.scalar(_OWN_LIMIT, {"tenant": tenant})
            most = self._most if own is None else int(own)
            return most, (connection.scalar(tokens_since(tenant, midnight)) or 0) if most else 0


def _fits(link: ChainLink, pattern: str) -> bool:
    return fnmatchcase(f"{link.provider}/{link.model}", pattern)
