"""The models as one job asks them: with its budget, its cancellation, its ledger and its events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic import JsonValue

from shared.errors import ProvidersFailed
from shared.llm import metrics
from shared.llm.attempts import Attempt, Tell
from shared.llm.chain import Link
from shared.llm.chat import ChatReply, ChatRequest, Provider, TokenUsage
from shared.llm.ledger import Ledger, Owner, Usage
from shared.llm.prices import cost
from shared.loop import Budget, BudgetSpent


class OnEvent(Protocol):
    """Where a job's events go: ``Report.event`` fits."""

    def __call__(self, type: str, **data: JsonValue) -> None: ...


def no_event(type: str, **data: JsonValue) -> None:
    """For calls that belong to no job."""


@dataclass
class JobLlm:
    """A provider for one job; ``usage`` are its totals so far."""

    owner: Owner
    ledger: Ledger
    budget: Budget
    on_event: OnEvent
    selector: tuple[str, ...]
    ask: Callable[[Tell], Provider]
    links: Callable[[ChatRequest], Sequence[Link]] = lambda _: ()  #: the configured models of a request
    usage: Usage = field(default_factory=Usage)
    name: str = "job"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask the role's models within the job's budget.

        Raises: BudgetSpent, NoProviderConfigured, ProvidersFailed, NoSuchModel, JobCancelled.
        """
        self.budget.check()
        ends = [moment for moment in (request.deadline, self.budget.deadline) if moment is not None]
        request = replace(request, deadline=min(ends) if ends else None, selector=request.selector or self.selector)
        teller = _Teller(self)
        try:
            return self.ask(teller).complete(request)
        except ProvidersFailed:
            if self.budget.seconds_left <= 0:
                raise BudgetSpent("seconds") from None
            raise

    def estimate(self, request: ChatRequest, usage: TokenUsage) -> float | None:
        """See ``Estimates``."""
        links = self.links(replace(request, selector=request.selector or self.selector))
        return cost(links[0].provider, links[0].model, usage) if links else None


@dataclass
class _Teller:
    """Writes down each attempt of one request."""

    job: JobLlm
    failed: Link | None = None

    def __call__(self, attempt: Attempt) -> None:
        job = self.job
        metrics.count(attempt)
        job.usage.count(attempt)
        job.ledger.write(job.owner, attempt)
        if attempt.reply is not None and attempt.reply.source != "replay":
            usage = attempt.reply.usage
            job.budget.spend_tokens((usage.input or 0) + (usage.output or 0))
        if attempt.reached:
            if attempt.reason == "failover" and self.failed is not None:
                job.on_event(
                    "failover",
                    role=attempt.request.role,
                    turn=attempt.request.turn,
                    **{"from": _named(self.failed), "to": _named(attempt.link)},
                    cause=attempt.cause,
                )
            job.on_event("llm_call", **_call(attempt))
        self.failed = attempt.link


def _named(link: Link) -> dict[str, JsonValue]:
    return {"provider": link.provider, "model": link.model}


def _call(attempt: Attempt) -> dict[str, JsonValue]:
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
        "source": reply.source if reply else "scripted" if attempt.scripted else "live",
    }
