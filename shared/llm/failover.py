"""A chain of providers that answers as one: when one fails the next is asked, and who fails often is skipped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock

from pydantic import JsonValue

from shared.errors import JobCancelled, NoProviderConfigured, ProvidersFailed
from shared.llm.breaker import Breaker, KnownHealth
from shared.llm.chat import SKIPPED, ChainLink, ChatReply, ChatRequest, OnAttempt, ProviderAttempt, Reason
from shared.llm.faults import NextStep, ProviderFault
from shared.llm.hedge import race
from shared.llm.vendors.adapter import Adapter
from shared.llm.watch import POLL_SECONDS, Watch
from shared.llm.wires.endpoint import SCRIPTED_HEADER
from shared.llm.wires.limits import RateLimits


@dataclass(frozen=True)
class FailoverSettings:
    """Seconds, but for the shares: parts of the time that is left, for a provider that is not the last."""

    patience: float = 15.0  #: the longest wait for a parked provider when no other is left
    least: float = 0.1  #: no provider is started with less to go
    total_share: float = 0.7
    first_token_share: float = 0.4
    hedge_after: float | None = None  #: ask the next one too when there is no answer yet; None is never


@dataclass(frozen=True)
class Failover:
    """Itself a provider. One per job: ``on_attempt`` and ``cancelled`` are the job's."""

    adapters: Mapping[str, Adapter]  #: of the configured providers
    chain: Callable[[ChatRequest], Sequence[ChainLink]]
    breaker: Breaker
    settings: FailoverSettings = field(default_factory=FailoverSettings)
    on_attempt: OnAttempt = lambda attempt: None
    cancelled: Callable[[], bool] = lambda: False
    name: str = "failover"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises: NoProviderConfigured, ProvidersFailed with every attempt, JobCancelled."""
        links = [link for link in self.chain(request) if link.provider in self.adapters]
        if not links:
            raise NoProviderConfigured(
                f"No provider in the chain of {request.role} has a key: set one, or change the chain."
            )
        return _Round(self, request).run(links)


@dataclass(frozen=True)
class _Candidate:
    """A link that may be asked now."""

    link: ChainLink
    known: KnownHealth
    reason: Reason
    last: bool


@dataclass
class _Round:
    """One request on its way through the chain."""

    failover: Failover
    request: ChatRequest
    attempts: list[ProviderAttempt] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def run(self, links: Sequence[ChainLink]) -> ChatReply:
        reply = self._pass(links)
        parked = [] if reply else self._soon_back(links)
        if parked:
            self._sleep(min(wait for _, wait in parked))
            reply = self._pass([link for link, _ in parked], again=True)
        if reply is None:
            raise self._failed()
        return reply

    def _pass(self, links: Sequence[ChainLink], again: bool = False) -> ChatReply | None:
        """Ask one after the other until one answers."""
        candidates = self._admitted(links, again)
        if self.failover.settings.hedge_after is not None:
            return race(candidates, self._ask, self.failover.settings.hedge_after)
        for candidate in candidates:
            if (reply := self._ask(candidate)) is not None:
                return reply
        return None

    def _admitted(self, links: Sequence[ChainLink], again: bool) -> Iterator[_Candidate]:
        ordered = self._by_health(links)
        for position, (link, known) in enumerate(ordered):
            if self._left() < self.failover.settings.least:
                return
            blocked = self.failover.breaker.admit(known)
            if blocked is not None:
                why = _why_skipped(known, self.failover)
                self._record(ProviderAttempt(0, self.request, link, "primary", SKIPPED, detail=why))
                continue
            first = not position and not self.attempts
            reason: Reason = "retry" if again else "primary" if first else "failover"
            yield _Candidate(link, known, reason, position == len(ordered) - 1)

    def _by_health(self, links: Sequence[ChainLink]) -> list[tuple[ChainLink, KnownHealth]]:
        """The links with their health; the nearly spent ones last."""
        adapters, breaker = self.failover.adapters, self.failover.breaker
        known = breaker.look([adapters[link.provider].endpoint.key(link.model) for link in links])
        now = breaker.clock()
        return sorted(zip(links, known, strict=True), key=lambda pair: pair[1].health.deferred_until > now)

    def _ask(
        self, candidate: _Candidate, abandoned: Event | None = None, reason: Reason | None = None
    ) -> ChatReply | None:
        """Ask one provider, a second time after a fault that says so; None when it failed."""
        reason = reason or candidate.reason
        for _ in range(2):
            watch = self._watch(candidate, abandoned)
            try:
                reply = self._ask_once(candidate, watch, reason)
            except ProviderFault as fault:
                self._faulted(candidate, watch, reason, fault)
                if fault.plan is NextStep.NEXT:
                    return None
                reason = "retry"
            else:
                return reply
        return None

    def _ask_once(self, candidate: _Candidate, watch: Watch, reason: Reason) -> ChatReply:
        link, known = candidate.link, candidate.known
        parameters = {**link.parameters, **(self.request.parameters or {})}
        request = replace(self.request, provider=link.provider, model=link.model, parameters=parameters)
        try:
            reply = self.failover.adapters[link.provider].ask(request, watch)
        except JobCancelled:
            self.failover.breaker.released(known.key)
            self._note(candidate, watch, reason, "abandoned")
            raise
        tokens = (reply.usage.input or 0) + (reply.usage.output or 0)
        self.failover.breaker.answered(known, RateLimits.read(watch.headers).spent_for(tokens))
        self._note(candidate, watch, reason, "ok", reply=reply)
        return reply

    def _faulted(self, candidate: _Candidate, watch: Watch, reason: Reason, fault: ProviderFault) -> None:
        if not (watch.ended == "total" and self._left() <= 0):  # our own deadline says nothing about the provider
            self.failover.breaker.faulted(candidate.known.key, fault)
        else:
            self.failover.breaker.released(candidate.known.key)
        self._note(candidate, watch, reason, fault.code, fault=fault)

    def _note(
        self,
        candidate: _Candidate,
        watch: Watch,
        reason: Reason,
        outcome: str,
        reply: ChatReply | None = None,
        fault: ProviderFault | None = None,
    ) -> None:
        self._record(
            ProviderAttempt(
                number=0,
                request=self.request,
                link=candidate.link,
                reason=reason,
                outcome=outcome,
                reply=reply,
                http_status=fault.http_status if fault else None,
                detail=fault.detail if fault else None,
                seconds=time.monotonic() - watch.began,
                first_token=watch.first_token,
                scripted=SCRIPTED_HEADER in watch.headers,
            )
        )

    def _record(self, attempt: ProviderAttempt) -> None:
        with self.lock:
            attempt = replace(attempt, number=len(self.attempts) + 1)
            if self.attempts:
                before = self.attempts[-1]
                reason: Reason = "failover" if attempt.outcome == SKIPPED else attempt.reason
                attempt = replace(attempt, reason=reason, before=before.link, cause=before.outcome)
            self.attempts.append(attempt)
        self.failover.on_attempt(attempt)

    def _watch(self, candidate: _Candidate, abandoned: Event | None) -> Watch:
        """The provider's limits, cut by the deadline and by what the next one needs."""
        endpoint, settings = self.failover.adapters[candidate.link.provider].endpoint, self.failover.settings
        now, left = time.monotonic(), self._left()
        limits = endpoint.timeouts
        total = min(limits.total, left if candidate.last else left * settings.total_share)
        first_token = (
            limits.first_token if candidate.last else min(limits.first_token, left * settings.first_token_share)
        )
        if not endpoint.stream:
            limits = replace(limits, idle=total)
            first_token = total
        cancelled = self.failover.cancelled
        return Watch(
            replace(limits, first_token=first_token, total=total),
            now + left,
            cancelled if abandoned is None else lambda: abandoned.is_set() or cancelled(),
        )

    def _left(self) -> float:
        return float("inf") if self.request.deadline is None else self.request.deadline - time.monotonic()

    def _soon_back(self, links: Sequence[ChainLink]) -> list[tuple[ChainLink, float]]:
        """Providers whose rate limit ends so soon that waiting makes sense, with the seconds until then."""
        now = self.failover.breaker.clock()
        most = min(self.failover.settings.patience, self._left() - 1)
        waits = [
            (link, max(known.health.parked_until - now, 0) + 0.01)
            for link, known in self._by_health(links)
            if known.health.parked_until and known.health.last_error == "rate_limited"
        ]
        return [(link, wait) for link, wait in waits if wait <= most]

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.failover.cancelled():
                raise JobCancelled("The job was cancelled while it waited for a model.")
            time.sleep(min(left, POLL_SECONDS))

    def _failed(self) -> ProvidersFailed:
        attempts: list[JsonValue] = [
            {
                "provider": attempt.link.provider,
                "model": attempt.link.model,
                "outcome": attempt.outcome,
                "http_status": attempt.http_status,
                "detail": attempt.detail,
            }
            for attempt in self.attempts
        ]
        if not attempts:
            return ProvidersFailed("No time was left to ask a model.", attempts=attempts)
        named = "; ".join(f"{a.link.provider} ({a.link.model}): {a.outcome}, {a.detail}" for a in self.attempts)
        return ProvidersFailed(f"No model provider answered. {named}", attempts=attempts)


def _why_skipped(known: KnownHealth, failover: Failover) -> str:
    state = known.health.state(failover.breaker.clock())
    words = {"parked": "It asked to be left alone for a while", "open": "It failed too often and rests"}
    return f"{words.get(state, 'It is being tried by another call')} (last error: {known.health.last_error})."
