"""The models as one job asks them: with its budget, its cancellation, its ledger and its events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from prometheus_client import Counter
from pydantic import JsonValue

from shared.errors import ProvidersFailed
from shared.llm.catalog import cost
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, ProviderAttempt, TokenUsage
from shared.llm.failover import Failover
from shared.llm.ledger import CallLedger, JobUsage, Owner
from shared.llm.recorder import Recorder
from shared.loop import Budget, BudgetSpent

# No tenant and no model in the labels.
_REQUESTS = Counter("provider_requests_total", "Attempts at model providers", ["provider", "outcome"])
_FAILOVERS = Counter("provider_failover_total", "Answers that had to come from another provider")


class OnEvent(Protocol):
    """Where a job's events go: ``Report.event`` fits."""

    def __call__(self, type: str, **data: JsonValue) -> None: ...


def no_event(type: str, **data: JsonValue) -> None:
    """For calls that belong to no job."""


@dataclass(frozen=True)
class JobAccount:
    """Counts every attempt of a job: in metrics, usage, ledger, budget and events."""

    owner: Owner
    ledger: CallLedger
    budget: Budget
    on_event: OnEvent = no_event
    usage: JobUsage = field(default_factory=JobUsage)

    def add(self, attempt: ProviderAttempt) -> None:
        _REQUESTS.labels(attempt.link.provider, attempt.outcome).inc()
        self.usage.count(attempt)
        self.ledger.write(self.owner, attempt)
        if attempt.reply is not None and attempt.reply.source != "replay":
            usage = attempt.reply.usage
            self.budget.spend_tokens((usage.input or 0) + (usage.output or 0))
        if not attempt.reached:
            return
        if attempt.reason == "failover":
            _FAILOVERS.inc()
            if attempt.before is not None:
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
    models: Failover | Recorder
    selector: tuple[str, ...] = ()  #: holds for every request that names no models of its own
    links: Callable[[ChatRequest], Sequence[ChainLink]] = lambda _: ()  #: the configured models of a request
    name: str = "job"

    @property
    def usage(self) -> JobUsage:
        return self.account.usage

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask the role's models within the job's budget.

        Raises: BudgetSpent, NoProviderConfigured, ProvidersFailed, NoSuchModel, JobCancelled.
        """
        budget = self.account.budget
        budget.check()
        ends = [moment for moment in (request.deadline, budget.deadline) if moment is not None]
        request = replace(request, deadline=min(ends) if ends else None, selector=request.selector or self.selector)
        try:
            return self.models.complete(request)
        except ProvidersFailed:
            if budget.seconds_left <= 0:
                raise BudgetSpent("seconds") from None
            raise

    def estimate(self, request: ChatRequest, usage: TokenUsage) -> float | None:
        """See ``Estimates``."""
        links = self.links(replace(request, selector=request.selector or self.selector))
        return cost(links[0].provider, links[0].model, usage) if links else None


def _named(link: ChainLink) -> dict[str, JsonValue]:
    return {"provider": link.provider, "model": link.model}


def _call(attempt: ProviderAttempt) -> dict[str, JsonValue]:
    reply = attempt.reply
    return {
        "role": attempt.request.role,
        "turn": attempt.request.turn,
        "attempt": attempt.number,
        "provider": attempt.link.provider,
        "model": attempt.link.model,
        "reason": attempt.reason,
        "outcome": attempt.outcome,
        "http_status": attempt.http_status,
        "input_tokens": reply.usage.input if reply else None,
        "output_tokens": reply.usage.output if reply else None,
        "seconds": round(attempt.seconds, 3),
        "source": attempt.source,
    }
