"""The ledger of attempts: every request to a provider, answered or not, with its cost."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, RowMapping, Select, func, insert, select
from sqlalchemy.exc import DataError, SQLAlchemyError

from shared.contracts.models import LlmCall, ModelName, PromptUsed
from shared.db import reason_of, sqlstate_of
from shared.llm import texts
from shared.llm.catalog import cost
from shared.llm.chat import SKIPPED, ProviderAttempt, TokenUsage
from shared.llm.tables import llm_calls, llm_texts

log = logging.getLogger(__name__)

_UNREACHED = (SKIPPED, "connection_failed")  #: these never reached the provider
_TOKENS = func.coalesce(
    func.sum(func.coalesce(llm_calls.c.input_tokens, 0) + func.coalesce(llm_calls.c.output_tokens, 0)), 0
)
_ITS_TEXT = (llm_texts.c.tenant_id == llm_calls.c.tenant_id) & (llm_texts.c.call_id == llm_calls.c.id)
_LONGEST_VALUE = 100  #: characters of a parameter that is recorded
_TEXTS = ("detail", "served_model", "parameters")  #: of a row, that others than Assay wrote
_NOT_OWN = "42501"  #: SQLSTATE of a row that is not of a job of the worker's (``migrations.roles``)
_MAX_WAITING = 1000  #: rows that wait in memory while the database cannot be reached


@dataclass(frozen=True)
class Owner:
    """Whose attempts these are."""

    tenant_id: str
    job_id: str | None
    job_attempt: int = 1


@dataclass
class JobUsage:
    """A job's totals, for its ``usage``; the cost is unknown as soon as one part of it is."""

    llm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    sources: set[str] = field(default_factory=set)  #: live, replay, scripted: who answered
    lock: Lock = field(default_factory=Lock)

    def count(self, attempt: ProviderAttempt) -> None:
        with self.lock:
            reply = attempt.reply
            if reply is None:
                self.llm_calls += attempt.outcome not in _UNREACHED
                self._spend(attempt, attempt.usage)
                return
            self.sources.add(reply.source)
            if reply.source == "replay":
                self.input_tokens += reply.usage.input or 0
                self.output_tokens += reply.usage.output or 0
                return
            self.llm_calls += 1
            self._spend(attempt, reply.usage)

    def _spend(self, attempt: ProviderAttempt, usage: TokenUsage | None) -> None:
        if usage is None:
            return
        self.input_tokens += usage.input or 0
        self.output_tokens += usage.output or 0
        price = cost(attempt.link.provider, attempt.link.model, usage)
        self.cost_usd = None if price is None or self.cost_usd is None else self.cost_usd + price

    @property
    def known_cost(self) -> float | None:
        """US dollars; None also when no provider answered."""
        return self.cost_usd if self.sources else None


class CallLedger:
    """Writes rows; a row that cannot be written waits for the next one."""

    def __init__(self, engine: Engine | None, keep: texts.Keep = "off") -> None:
        self._engine = engine
        self._keep: texts.Keep = keep
        self._waiting: deque[tuple[Mapping[str, object], bytes | None]] = deque(maxlen=_MAX_WAITING)

    def write(self, owner: Owner, attempt: ProviderAttempt) -> None:
        kept = texts.packed(attempt) if texts.is_kept(self._keep, attempt) else None
        self._waiting.append((row(owner, attempt), kept))
        if self._engine is None:
            return
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._insert(self._engine, rows)
        except (SQLAlchemyError, ValueError) as error:
            if _is_defect(error):  # what no row can hold must not keep the others back
                log.error("model_call_defect: a row of the ledger cannot be written: %s", error)
                for each in rows:
                    self._insert_alone(self._engine, each)
                return
            self._waiting.extendleft(reversed(rows))
            log.warning("the ledger of model calls waits for the database: %s", reason_of(error))

    def _insert_alone(self, engine: Engine, row: tuple[Mapping[str, object], bytes | None]) -> None:
        """Write one row, without its texts where those are what cannot be written."""
        call, kept = row
        plain = {name: value for name, value in call.items() if name not in _TEXTS}
        for values in ((call, kept), (plain, None)):
            try:
                self._insert(engine, [values])
            except (SQLAlchemyError, ValueError) as error:
                if _is_defect(error):
                    continue
                self._waiting.append(row)
            return

    def _insert(self, engine: Engine, rows: Sequence[tuple[Mapping[str, object], bytes | None]]) -> None:
        with engine.begin() as connection:
            for call, kept in rows:
                id = connection.execute(insert(llm_calls).values(call).returning(llm_calls.c.id)).scalar_one()
                if kept is not None:
                    values = {"call_id": id, "tenant_id": call["tenant_id"], "body": kept}
                    connection.execute(insert(llm_texts).values(values))


def _is_defect(error: Exception) -> bool:
    """Return whether waiting does not help: no row can hold it, or its job was deleted meanwhile."""
    return isinstance(error, (DataError, ValueError)) or sqlstate_of(error) == _NOT_OWN


def row(owner: Owner, attempt: ProviderAttempt) -> dict[str, object]:
    """Return the attempt as a row of ``llm_calls``, without the text of prompt or answer."""
    reply, request = attempt.reply, attempt.request
    usage = reply.usage if reply else attempt.usage
    finish = reply.finish if reply else attempt.finish
    paid = None if attempt.source == "replay" else usage
    return {
        "tenant_id": owner.tenant_id,
        "job_id": owner.job_id,
        "job_attempt": owner.job_attempt,
        "turn": request.turn,
        "attempt": attempt.number,
        "role": request.role,
        "requested_provider": attempt.link.provider,
        "requested_model": attempt.link.model,
        "served_provider": reply.provider if reply else None,
        "served_model": reply.model if reply else None,
        "reason": attempt.reason,
        "cause": attempt.cause,
        "outcome": attempt.outcome,
        "http_status": attempt.http_status if reply is None else attempt.http_status or 200,
        "input_tokens": usage.input if usage else None,
        "output_tokens": usage.output if usage else None,
        "cached_tokens": usage.cached if usage else None,
        "cost_usd": cost(attempt.link.provider, attempt.link.model, paid) if paid else None,
        "prompt_key": request.prompt.key if request.prompt else None,
        "prompt_version": request.prompt.version if request.prompt else None,
        "seconds": attempt.seconds,
        "first_token_seconds": attempt.first_token,
        "queue_seconds": attempt.queued,
        "parameters": _parameters(attempt),
        "finish": finish.value if finish else None,
        "detail": attempt.detail,
        "source": attempt.source,
        "request": attempt.request_id,
    }


def _parameters(attempt: ProviderAttempt) -> dict[str, JsonValue] | None:
    """Return the call's parameters by name: plain values that the model accepted."""
    given = {**attempt.link.parameters, **(attempt.request.parameters or {})}
    ignored = attempt.reply.ignored if attempt.reply else ()
    plain: dict[str, JsonValue] = {
        name: value
        for name, value in given.items()
        if name not in ignored and isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_VALUE
    }
    return plain or None


def calls_of(tenant: str, job: str) -> Select[*tuple[Any, ...]]:
    """Select a job's attempts in order; ``as_call`` makes them items of the API."""
    return (
        select(llm_calls)
        .where(llm_calls.c.tenant_id == tenant, llm_calls.c.job_id == job)
        .order_by(llm_calls.c.id)
        .limit(10_000)
    )


def call_with_text(tenant: str, job: str, call: int) -> Select[*tuple[Any, ...]]:
    """Select one attempt with the ``body`` of ``llm_texts``, null where no text is kept."""
    return (
        select(llm_calls, llm_texts.c.body)
        .outerjoin(llm_texts, _ITS_TEXT)
        .where(llm_calls.c.tenant_id == tenant, llm_calls.c.job_id == job, llm_calls.c.id == call)
    )


def latest_text(tenant: str, job: str, prompt: str) -> Select[*tuple[Any, ...]]:
    """Select the job's newest answered call that used the prompt and whose text is kept."""
    calls = llm_calls.c
    return (
        select(llm_calls, llm_texts.c.body)
        .join(llm_texts, _ITS_TEXT)
        .where(calls.tenant_id == tenant, calls.job_id == job, calls.prompt_key == prompt)
        .order_by((calls.outcome == "ok").desc(), calls.id.desc())
        .limit(1)
    )


def as_call(values: Mapping[str, Any] | RowMapping) -> LlmCall:
    """Return a row's mapping as an item of ``GET /v1/jobs/{id}/llm-calls``."""

    def name(provider: object, model: object) -> ModelName | None:
        return None if provider is None else ModelName(provider=str(provider), model=str(model))

    key = values["prompt_key"]
    prompt = None if key is None else PromptUsed(key=str(key), version=int(str(values["prompt_version"])))
    return LlmCall.model_validate(
        {
            **{field: values[field] for field in LlmCall.model_fields if field in values},
            "requested": name(values["requested_provider"], values["requested_model"]),
            "served": name(values["served_provider"], values["served_model"]),
            "prompt": prompt,
            "parameters": values.get("parameters") or {},
        }
    )


def totals(connection: Connection, tenant: str, job: str) -> dict[str, JsonValue]:
    """Return the job's ``usage`` over all its runs; the cost is unknown as soon as one answer's is."""
    calls = llm_calls.c
    reached = calls.outcome.not_in(_UNREACHED) & (calls.source != "replay")
    spent = (calls.outcome == "ok") | calls.input_tokens.is_not(None)  # an empty answer has its price too
    answered = spent & (calls.source != "replay")
    row = connection.execute(
        select(
            func.count().filter(reached),
            func.coalesce(func.sum(calls.input_tokens), 0),
            func.coalesce(func.sum(calls.output_tokens), 0),
            func.sum(calls.cost_usd).filter(answered),
            func.count().filter(answered & calls.cost_usd.is_(None)),
        ).where(calls.tenant_id == tenant, calls.job_id == job)
    ).one()
    cost_usd = None if row[4] else row[3]
    return {"llm_calls": row[0], "input_tokens": row[1], "output_tokens": row[2], "cost_usd": cost_usd}


def tokens_of_run(owner: Owner) -> Select[int]:
    """Select the number of tokens used by one run of a job."""
    calls = llm_calls.c
    of_run = (calls.tenant_id == owner.tenant_id, calls.job_id == owner.job_id, calls.job_attempt == owner.job_attempt)
    return select(_TOKENS).where(*of_run, calls.source != "replay")


def tokens_since(tenant: str, moment: datetime) -> Select[int]:
    """Select the number of tokens used by the tenant since the moment, for the daily budget."""
    calls = llm_calls.c
    return select(_TOKENS).where(calls.tenant_id == tenant, calls.at >= moment, calls.source != "replay")
