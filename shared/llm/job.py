"""The models of one job: with its budget, cancellation, ledger and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from prometheus_client import Counter, Histogram
from pydantic import JsonValue

from shared import tracing
from shared.errors import ContextTooLong, ProvidersFailed
from shared.llm import traces
from shared.llm.catalog import cost
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, Json, OnAttempt, Provider, ProviderAttempt, TokenUsage
from shared.llm.ledger import CallLedger, JobUsage, Owner
from shared.llm.shorten import Shortened, shortened
from shared.loop import Budget, BudgetSpent

# No tenant and no model in the labels.
_REQUESTS = Counter("provider_requests_total", "Attempts at model providers", ["provider", "outcome"])
_SECONDS = Histogram(
    "provider_request_seconds", "Duration of an attempt at a model provider", ["provider", "role"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
)  # fmt: skip
_TOKENS = Counter("provider_tokens_total", "Tokens that providers counted", ["provider", "role", "direction"])
_COST = Counter("provider_cost_usd_total", "What answers with a known price cost, in US dollars", ["provider", "role"])
_FAILOVERS = Counter("provider_failover_total", "Answers that had to come from another provider")


class OnEvent(Protocol):
    """Where a job's events go: ``Report.event`` fits."""

    def __call__(self, type: str, **data: JsonValue) -> None: ...


def no_event(type: str, **data: JsonValue) -> None:
    """Ignore the event, for calls that belong to no job."""


@dataclass(frozen=True)
class JobAccount:
    """Counts every attempt of a job: in metrics, usage, ledger, budget and events."""

    owner: Owner
    ledger: CallLedger | None  #: None: the broker makes the call, writes the ledger and measures
    budget: Budget
    on_event: OnEvent = no_event
    on_attempt: OnAttempt = lambda attempt: None
    usage: JobUsage = field(default_factory=JobUsage)
    parent: tracing.Parent = field(default_factory=tracing.Parent)

    def add(self, attempt: ProviderAttempt) -> None:
        self.on_attempt(attempt)  # first: the listener writes its events while the ledger is written here
        if self.ledger is not None:
            _REQUESTS.labels(attempt.link.provider, attempt.outcome).inc()
            if attempt.reached:
                _observe(attempt)
            if attempt.reached and attempt.reason == "failover":
                _FAILOVERS.inc()
            self.ledger.write(self.owner, attempt)
        self.usage.count(attempt)
        if attempt.reply is not None and attempt.reply.source != "replay":
            self.budget.spend_tokens(attempt.reply.usage.total)
        elif attempt.usage is not None:
            self.budget.spend_tokens(attempt.usage.total)
        if not attempt.reached:
            return
        traces.record(self.parent, attempt)
        if attempt.reason == "failover" and attempt.before is not None:
            self._tell_failover(attempt, attempt.before)
        self.on_event("llm_call", **_call(attempt))

    def _tell_failover(self, attempt: ProviderAttempt, before: ChainLink) -> None:
        self.on_event(
            "failover",
            role=attempt.request.role,
            turn=attempt.request.turn,
            **{"from": _named(before), "to": _named(attempt.link)},
            cause=attempt.cause,
        )


@dataclass(frozen=True)
class JobLlm:
    """A provider for one job; ``usage`` are its totals so far."""

    account: JobAccount
    models: Provider
    selector: tuple[str, ...] = ()  #: applies to every request that names no models
    links: Callable[[ChatRequest], Sequence[ChainLink]] = lambda _: ()  #: the configured models of a request
    admission: Callable[[Sequence[ChainLink]], None] = lambda _: None  #: what the tenant may use, today
    parameters: Json = field(default_factory=dict)  #: of every call, whatever the request and the chain say
    warn: Callable[[str], None] = lambda _: None
    warned: set[str] = field(default_factory=set)  #: what has been said already
    shortens: bool = True  #: prompts that do not fit; the broker leaves that to the worker, which reports it
    name: str = "job"

    @property
    def usage(self) -> JobUsage:
        return self.account.usage

    def complete(self, request: ChatRequest) -> ChatReply:
        """Call the role's models within the job's budget.

        Raises: BudgetSpent, NoProviderConfigured, ProvidersFailed, NoSuchModel, ModelNotAllowed, QuotaExceeded,
        JobCancelled.
        """
        budget = self.account.budget
        budget.check()
        self.admission(())
        ends = [moment for moment in (request.deadline, budget.deadline) if moment is not None]
        request = replace(request, deadline=min(ends) if ends else None, selector=request.selector or self.selector)
        if self.parameters:
            request = replace(request, parameters={**(request.parameters or {}), **self.parameters})
        try:
            reply = self._complete(request)
        except ProvidersFailed as failed:
            if budget.seconds_left <= 0:
                raise BudgetSpent("seconds", failed=failed) from None
            raise
        if ignored := [name for name in self.parameters if name in reply.ignored]:
            self.warn(f"{reply.provider}/{reply.model} takes no {' and no '.join(ignored)}: its answers may vary.")
        return reply

    def _complete(self, request: ChatRequest) -> ChatReply:
        """Call the models, and once more with a shorter prompt when it does not fit the model's window."""
        compact, request = request.compact, replace(request, compact=None)
        try:
            return self.models.complete(request)
        except ContextTooLong as overflow:
            if not self.shortens:
                raise
            window, counted = (_count(overflow.extra.get(name)) for name in ("window", "prompt_tokens"))
            shorter = shortened(request, window, counted, compact)
            if shorter is None:
                raise
            self._tell(request, shorter, window)
            return self.models.complete(shorter.request)

    def _tell(self, request: ChatRequest, shorter: Shortened, window: int | None) -> None:
        """Report in the job's events, and once as a warning, what was left out of the prompt."""
        self.account.on_event(
            "prompt_shortened",
            role=request.role,
            turn=request.turn,
            window=window,
            tokens=shorter.tokens,
            kept=shorter.kept,
            left_out=[*shorter.left_out],
        )
        role = f"{request.role}, {window} tokens" if window else request.role
        warning = f"The model's window is too small for the prompt ({role}). Left out: {', '.join(shorter.left_out)}."
        if warning not in self.warned:
            self.warned.add(warning)
            self.warn(warning)

    def links_of(self, request: ChatRequest) -> Sequence[ChainLink]:
        """See ``KnowsModels``."""
        return self.links(replace(request, selector=request.selector or self.selector))

    def admit(self, link: ChainLink) -> None:
        """See ``Meter``."""
        self.account.budget.check()
        self.admission((link,))

    def spend(self, link: ChainLink, role: str, usage: TokenUsage, seconds: float) -> None:
        """See ``Meter``."""
        reply = ChatReply("", link.provider, link.model, usage=usage)
        self.account.add(ProviderAttempt(1, ChatRequest(role, ()), link, "primary", "ok", reply=reply, seconds=seconds))

    def estimate(self, request: ChatRequest, usage: TokenUsage) -> float | None:
        """See ``Estimates``."""
        links = self.links_of(request)
        return cost(links[0].provider, links[0].model, usage) if links else None


def _observe(attempt: ProviderAttempt) -> None:
    """Update the metrics with an attempt that reached its provider."""
    labels = (attempt.link.provider, attempt.request.role)
    _SECONDS.labels(*labels).observe(attempt.seconds)
    usage = attempt.reply.usage if attempt.reply else attempt.usage
    if usage is None or attempt.source == "replay":
        return
    _TOKENS.labels(*labels, "input").inc(usage.input or 0)
    _TOKENS.labels(*labels, "output").inc(usage.output or 0)
    _COST.labels(*labels).inc(cost(attempt.link.provider, attempt.link.model, usage) or 0)


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) else None


def _named(link: ChainLink) -> dict[str, JsonValue]:
    return {"provider": link.provider, "model": link.model}


def _call(attempt: ProviderAttempt) -> dict[str, JsonValue]:
    reply = attempt.reply
    usage = reply.usage if reply else attempt.usage
    return {
        "role": attempt.request.role,
        "turn": attempt.request.turn,
        "attempt": attempt.number,
        "provider": attempt.link.provider,
        "model": attempt.link.model,
        "reason": attempt.reason,
        "outcome": attempt.outcome,
        "http_status": attempt.http_status,
        "detail": attempt.detail,
        "input_tokens": usage.input if usage else None,
        "output_tokens": usage.output if usage else None,
        "seconds": round(attempt.seconds, 3),
        "source": attempt.source,
    }
