"""A chain of providers that answers as one: when one fails the next is called, and unreliable ones are skipped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from shared.errors import AssayError, JobCancelled, NoProviderConfigured
from shared.llm.attempts import Attempts
from shared.llm.breaker import Breaker
from shared.llm.call_clock import POLL_SECONDS, Watch
from shared.llm.candidates import Candidate, Candidates
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, OnAttempt, Reason
from shared.llm.faults import (
    Busy,
    CapTooLarge,
    NextStep,
    Part,
    PartUnsupported,
    PromptTooLong,
    ProviderFault,
    SchemaMissed,
    TimedOut,
)
from shared.llm.hedge import race
from shared.llm.slots import CallSlots, SlotElsewhere, SlotTaken, slot
from shared.llm.tokens import cap_beside, smaller_cap
from shared.llm.vendors.adapter import Adapter
from shared.llm.wires.limits import RateLimits


@dataclass(frozen=True)
class FailoverSettings:
    """Seconds, but for the shares: parts of the time that is left, for a provider that is not the last."""

    patience: float = 15.0  #: the longest wait for a provider that is soon back when no other is left
    starting: float = 300.0  #: the longest wait for a server that loads its model when no other is left
    least: float = 0.1  #: no provider is started with less to go
    total_share: float = 0.7
    first_token_share: float = 0.4
    hedge_after: float | None = None  #: hedging: seconds until the next one is called too; None disables it


@dataclass(frozen=True)
class Failover:
    """Itself a provider. One per job: ``on_attempt`` and ``cancelled`` are the job's."""

    adapters: Mapping[str, Adapter]  #: of the configured providers
    chain: Callable[[ChatRequest], Sequence[ChainLink]]
    breaker: Breaker
    settings: FailoverSettings = field(default_factory=FailoverSettings)
    on_attempt: OnAttempt = lambda attempt: None
    cancelled: Callable[[], bool] = lambda: False
    tenant: str = ""
    slots: CallSlots = field(default_factory=CallSlots)
    name: str = "failover"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the first reply of the chain.

        Raises: NoProviderConfigured, ProvidersFailed with every attempt, JobCancelled.
        """
        links = [link for link in self.chain(request) if link.provider in self.adapters]
        if not links:
            raise NoProviderConfigured(
                f"No provider in the chain of {request.role} has a key: set one, or change the chain."
            )
        attempts = Attempts(request, self.on_attempt)
        candidates = Candidates(self.adapters, self.breaker, self.tenant, attempts, self.slots)
        return _Round(self, request, attempts, candidates).run(links)


@dataclass(frozen=True)
class _Round:
    """One request on its way through the chain."""

    failover: Failover
    request: ChatRequest
    attempts: Attempts
    candidates: Candidates
    waited: list[float] = field(default_factory=list)  #: seconds for slots that were not taken in the end

    def run(self, links: Sequence[ChainLink]) -> ChatReply:
        """Call the links in order; if none answers, call the suspended ones and those that are available again soon."""
        reply = self._pass(links)
        if reply is None and (resting := self.attempts.skipped_of(links)):
            reply = self._pass(resting, again=True, resting=True)
        began, tries = time.monotonic(), 0
        while reply is None and (soon := self._worth_waiting_for(links, began, tries)):
            self._sleep(min(wait for _, wait in soon))
            tries += 1
            reply = self._pass([link for link, _ in soon], again=True, resting=True)
        if reply is None:
            raise self.attempts.failure()
        return reply

    def _pass(self, links: Sequence[ChainLink], again: bool = False, resting: bool = False) -> ChatReply | None:
        """Call one candidate after the other until one answers."""
        admitted = self._admitted(links, again, resting)
        if (hedge_after := self.failover.settings.hedge_after) is not None:
            return race(admitted, self._ask, hedge_after)
        remaining, left = [*links], None
        while (candidate := next(admitted, None)) is not None:
            try:
                # Who comes first again although another one is free stays: that one may be resting.
                reply = self._ask(candidate, among=() if candidate.link == left else remaining)
            except SlotElsewhere as free:
                left = candidate.link
                self.waited.append(free.waited)
                self.candidates.released(candidate)
            else:
                if reply is not None:
                    return reply
                remaining.remove(candidate.link)
            remaining = remaining if resting else self.attempts.not_skipped_of(remaining)
            admitted = self._admitted(remaining, again, resting)
        return None

    def _admitted(self, links: Sequence[ChainLink], again: bool, resting: bool) -> Iterator[Candidate]:
        least = self.failover.settings.least
        return self.candidates.admitted(links, lambda: self._left() >= least, again=again, resting=resting)

    def _ask(
        self,
        candidate: Candidate,
        abandoned: Event | None = None,
        reason: Reason | None = None,
        among: Sequence[ChainLink] = (),
    ) -> ChatReply | None:
        """Call one provider, and again if its fault allows a retry; None when it failed.

        Raises: SlotElsewhere when it is busy, and one of ``among`` that serves the same model is free.
        """
        reason = reason or candidate.reason
        request, without, faults = self._fitting(candidate), frozenset[Part](), set[str]()
        if request is None:
            self.candidates.released(candidate)
            return None
        while True:
            watch = self._watch(candidate, abandoned)
            try:
                with self._slot(candidate, watch, among) as queued:
                    watch.queued = queued
                    watch = self._watch(candidate, abandoned, queued)
                    reply = self._ask_once(candidate, watch, reason, request, without)
            except ProviderFault as fault:
                self._faulted(candidate, watch, reason, fault)
                repeated = fault.code in faults
                faults.add(fault.code)
                if isinstance(fault, PartUnsupported) and not repeated:
                    without |= {fault.part}
                elif (again := _again(request, fault, repeated=repeated)) is not None:
                    request = again
                else:
                    return None
                reason = "retry"
            else:  # the slot is free again before the answer is written down
                self.candidates.answered(candidate, RateLimits.read(watch.headers).spent_for(reply.usage.total))
                self.attempts.answered(candidate.link, watch, reason, reply)
                return reply

    def _ask_once(
        self, candidate: Candidate, watch: Watch, reason: Reason, request: ChatRequest, without: frozenset[Part]
    ) -> ChatReply:
        link = candidate.link
        parameters = {**link.parameters, **(request.parameters or {})}
        request = replace(request, provider=link.provider, model=link.model, parameters=parameters)
        try:
            return self.failover.adapters[link.provider].ask(request, watch, without)
        except ProviderFault:
            raise
        except AssayError:  # the job's own end
            self.candidates.released(candidate)
            self.attempts.abandoned(link, watch, reason)
            raise

    def _faulted(self, candidate: Candidate, watch: Watch, reason: Reason, fault: ProviderFault) -> None:
        hurried = isinstance(fault, TimedOut) and fault.http_status is None and watch.was_cut_short()
        if hurried and self._left() <= 0:  # the job's own deadline says nothing about the provider
            self.candidates.released(candidate)
        else:
            self.candidates.faulted(candidate, fault, hurried)
        self.attempts.failed(candidate.link, watch, reason, fault)

    def _fitting(self, candidate: Candidate) -> ChatRequest | None:
        """Return the request with a token cap that fits the window; None when the prompt exceeds the known window."""
        link = candidate.link
        adapter = self.failover.adapters[link.provider]
        window = adapter.window_of(link.model)
        if window is None:
            return self.request
        size = adapter.prompt_tokens(self.request, link.model, window)
        if (most := cap_beside(size, window)) is not None:
            return replace(self.request, max_tokens=min(self.request.max_tokens, most))
        why = f"The prompt has about {size} tokens, and the model's window {window}."
        self.attempts.too_long(link, PromptTooLong(why, window=window, prompt=size))
        return None

    @contextmanager
    def _slot(self, candidate: Candidate, watch: Watch, among: Sequence[ChainLink]) -> Iterator[float | None]:
        """Hold a slot of the endpoint's model, if its calls are limited. Raises: Busy, SlotElsewhere, JobCancelled."""
        link, failover = candidate.link, self.failover
        endpoint = failover.adapters[link.provider].endpoint
        if endpoint.concurrency is None:
            yield None
            return
        waited = sum(self.waited)
        most = self._left() if candidate.last else min(max(failover.settings.patience - waited, 0), self._left())
        until, held = time.monotonic() + most, endpoint.limits.total

        def check() -> None:
            if watch.cancelled():
                raise JobCancelled("The job was cancelled while it waited for a model.")

        try:
            with slot(
                failover.slots, endpoint.key(link.model), failover.tenant, endpoint.concurrency,
                held=held, until=until, check=check, elsewhere=self.candidates.freer(link, among),
            ) as queued:  # fmt: skip
                yield waited + queued
        except SlotTaken:
            raise Busy(f"All of its {endpoint.concurrency} slots were taken for {most:.0f} s.") from None
        except JobCancelled:
            self.candidates.released(candidate)
            raise

    def _watch(self, candidate: Candidate, abandoned: Event | None, queued: float | None = None) -> Watch:
        """Return the provider's limits, reduced by the deadline and by the time that the next provider needs."""
        endpoint, settings = self.failover.adapters[candidate.link.provider].endpoint, self.failover.settings
        now, left = time.monotonic(), self._left()
        limits = endpoint.limits
        total = min(limits.total, left if candidate.last else left * settings.total_share)
        first_token = limits.first_token
        if endpoint.stream and not candidate.last:
            first_token = min(first_token, left * settings.first_token_share)
        cancelled = self.failover.cancelled
        return Watch(
            replace(limits, first_token=min(first_token, total), total=total),
            now + left,
            cancelled if abandoned is None else lambda: abandoned.is_set() or cancelled(),
            limits,
            queued=queued,
        )

    def _left(self) -> float:
        return float("inf") if self.request.deadline is None else self.request.deadline - time.monotonic()

    def _worth_waiting_for(self, links: Sequence[ChainLink], began: float, tries: int) -> list[tuple[ChainLink, float]]:
        """Return the links that are available soon, with the seconds until their next call."""
        settings, waited = self.failover.settings, time.monotonic() - began
        soon = self.candidates.soon_back(links, tries, settings.patience, settings.starting)
        return [(link, wait) for link, wait, most in soon if waited + wait <= most and wait <= self._left() - 1]

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.failover.cancelled():
                raise JobCancelled("The job was cancelled while it waited for a model.")
            time.sleep(min(left, POLL_SECONDS))


def _again(request: ChatRequest, fault: ProviderFault, *, repeated: bool) -> ChatRequest | None:
    """Return the request for another call to the same provider after the fault; None for the next provider."""
    match fault:
        case SchemaMissed() if repeated:  # this model cannot keep to this schema: in words then
            return replace(request, schema=None) if request.schema is not None else None
        case _ if repeated:
            return None
        case CapTooLarge():
            return replace(request, max_tokens=fault.cap) if fault.cap < request.max_tokens else None
        case PromptTooLong():
            cap = smaller_cap(request, fault)
            return None if cap is None else replace(request, max_tokens=cap)
    return request if fault.plan is NextStep.SAME_AGAIN else None
