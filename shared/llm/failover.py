"""A chain of providers that answers as one: when one fails the next is asked, and who fails often is skipped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event, Lock

from shared.errors import JobCancelled, NoProviderConfigured
from shared.llm.breaker import Breaker, KnownHealth
from shared.llm.chat import SKIPPED, ChainLink, ChatReply, ChatRequest, OnAttempt, ProviderAttempt, Reason
from shared.llm.faults import (
    Busy,
    ConnectionFailed,
    EmptyAnswer,
    NextStep,
    Part,
    PartUnsupported,
    PromptTooLong,
    ProviderFault,
    ProviderOverloaded,
    Starting,
    StreamCut,
    TimedOut,
)
from shared.llm.hedge import race
from shared.llm.slots import LocalSlots, Slots, SlotTaken, slot
from shared.llm.tokens import prompt_tokens
from shared.llm.unanswered import no_answer
from shared.llm.vendors.adapter import Adapter
from shared.llm.watch import POLL_SECONDS, Watch
from shared.llm.windows import cap_beside, smaller_cap
from shared.llm.wires.endpoint import SCRIPTED_HEADER
from shared.llm.wires.limits import RateLimits

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 2.0  #: seconds before a provider that is away is asked again
_AWAY = (ConnectionFailed.code, ProviderOverloaded.code, StreamCut.code)


@dataclass(frozen=True)
class FailoverSettings:
    """Seconds, but for the shares: parts of the time that is left, for a provider that is not the last."""

    patience: float = 15.0  #: the longest wait for a provider that is soon back when no other is left
    starting: float = 300.0  #: the longest wait for a server that loads its model when no other is left
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
    tenant: str = ""
    slots: Slots = field(default_factory=LocalSlots)
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
    known: KnownHealth  #: to everybody
    own: KnownHealth  #: to this tenant: calls that it gave less time than the provider may take
    reason: Reason
    last: bool


@dataclass
class _Round:
    """One request on its way through the chain."""

    failover: Failover
    request: ChatRequest
    attempts: list[ProviderAttempt] = field(default_factory=list)
    overflows: list[PromptTooLong] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def run(self, links: Sequence[ChainLink]) -> ChatReply:
        """One after the other; when none of them answers, the resting ones after all, and those that are soon back."""
        reply = self._pass(links)
        if reply is None and (resting := [link for link in links if self._last(link) == SKIPPED]):
            reply = self._pass(resting, again=True, resting=True)
        began, tries = time.monotonic(), 0
        while reply is None and (soon := self._soon_back(links, began, tries)):
            self._sleep(min(wait for _, wait in soon))
            tries += 1
            reply = self._pass([link for link, _ in soon], again=True, resting=True)
        if reply is None:
            raise no_answer(self.attempts, self.overflows)
        return reply

    def _pass(self, links: Sequence[ChainLink], again: bool = False, resting: bool = False) -> ChatReply | None:
        """Ask one after the other until one answers."""
        candidates = self._admitted(links, again, resting)
        if self.failover.settings.hedge_after is not None:
            return race(candidates, self._ask, self.failover.settings.hedge_after)
        for candidate in candidates:
            if (reply := self._ask(candidate)) is not None:
                return reply
        return None

    def _admitted(self, links: Sequence[ChainLink], again: bool, resting: bool) -> Iterator[_Candidate]:
        """``resting``: those with an open breaker too, but not those that asked to be left alone."""
        ordered = self._by_health(links)
        for position, (link, known, own) in enumerate(ordered):
            if self._left() < self.failover.settings.least:
                return
            blocking = self._blocking(known, own)
            if blocking is not None and resting and not self._is_parked(blocking):
                blocking = None
            if blocking is not None and resting:
                continue
            if blocking is not None:
                why = _why_skipped(blocking, self.failover)
                self._record(ProviderAttempt(0, self.request, link, "primary", SKIPPED, detail=why))
                continue
            first = not position and not self.attempts
            reason: Reason = "retry" if again else "primary" if first else "failover"
            yield _Candidate(link, known, own, reason, position == len(ordered) - 1)

    def _by_health(self, links: Sequence[ChainLink]) -> list[tuple[ChainLink, KnownHealth, KnownHealth]]:
        """The links with their health, to everybody and to this tenant; the nearly spent ones last."""
        adapters, breaker = self.failover.adapters, self.failover.breaker
        keys = [adapters[link.provider].endpoint.key(link.model) for link in links]
        known = breaker.look([*keys, *(f"{key}:of:{self.failover.tenant}" for key in keys)])
        now, count = breaker.clock(), len(links)
        each = zip(links, known[:count], known[count:], strict=True)
        return sorted(each, key=lambda entry: entry[1].health.deferred_until > now)

    def _blocking(self, known: KnownHealth, own: KnownHealth) -> KnownHealth | None:
        """Whose health forbids the call; None lets it go ahead."""
        breaker = self.failover.breaker
        if breaker.admit(own) is not None:
            return own
        if breaker.admit(known) is None:
            return None
        breaker.released(own.key)
        return known

    def _ask(
        self, candidate: _Candidate, abandoned: Event | None = None, reason: Reason | None = None
    ) -> ChatReply | None:
        """Ask one provider, a second time after a fault that says so; None when it failed."""
        reason = reason or candidate.reason
        request, without, faults = self._fitting(candidate), frozenset[Part](), set[str]()
        if request is None:
            self._released(candidate)
            return None
        while True:
            watch = self._watch(candidate, abandoned)
            try:
                with self._slot(candidate, watch) as queued:
                    watch.queued = queued
                    watch = self._watch(candidate, abandoned, queued)
                    return self._ask_once(candidate, watch, reason, request, without)
            except ProviderFault as fault:
                self._faulted(candidate, watch, reason, fault)
                if fault.code in faults:
                    return None
                faults.add(fault.code)
                match fault:
                    case PartUnsupported():
                        without |= {fault.part}
                    case PromptTooLong() if (cap := smaller_cap(request, fault)) is not None:
                        request = replace(request, max_tokens=cap)
                    case _ if fault.plan is not NextStep.SAME_AGAIN:
                        return None
                reason = "retry"

    def _fitting(self, candidate: _Candidate) -> ChatRequest | None:
        """The request with a cap that fits beside the prompt; None when the prompt is longer than the known window."""
        link = candidate.link
        window = self.failover.adapters[link.provider].endpoint.window_of(link.model)
        if window is None:
            return self.request
        size = prompt_tokens(self.request)
        if (most := cap_beside(size, window)) is not None:
            return replace(self.request, max_tokens=min(self.request.max_tokens, most))
        why = f"The prompt has about {size} tokens, and the model's window {window}."
        self.overflows.append(PromptTooLong(why, window=window, prompt=size))
        self._record(ProviderAttempt(0, self.request, link, "primary", SKIPPED, detail=why))
        return None

    @contextmanager
    def _slot(self, candidate: _Candidate, watch: Watch) -> Iterator[float | None]:
        """A slot of the endpoint's model, where they are counted. Raises: Busy, JobCancelled."""
        link, failover = candidate.link, self.failover
        endpoint = failover.adapters[link.provider].endpoint
        if endpoint.concurrency is None:
            yield None
            return
        most = self._left() if candidate.last else min(failover.settings.patience, self._left())
        until, held = time.monotonic() + most, endpoint.limits.total

        def check() -> None:
            if watch.cancelled():
                raise JobCancelled("The job was cancelled while it waited for a model.")

        try:
            with slot(
                failover.slots, endpoint.key(link.model), failover.tenant, endpoint.concurrency,
                held=held, until=until, check=check,
            ) as queued:  # fmt: skip
                yield queued
        except SlotTaken:
            raise Busy(f"All of its {endpoint.concurrency} slots were taken for {most:.0f} s.") from None
        except JobCancelled:
            self._released(candidate)
            raise

    def _ask_once(
        self, candidate: _Candidate, watch: Watch, reason: Reason, request: ChatRequest, without: frozenset[Part]
    ) -> ChatReply:
        link, known = candidate.link, candidate.known
        parameters = {**link.parameters, **(request.parameters or {})}
        request = replace(request, provider=link.provider, model=link.model, parameters=parameters)
        try:
            reply = self.failover.adapters[link.provider].ask(request, watch, without)
        except JobCancelled:
            self._released(candidate)
            self._note(candidate, watch, reason, "abandoned")
            raise
        self.failover.breaker.answered(known, RateLimits.read(watch.headers).spent_for(reply.usage.total))
        self.failover.breaker.answered(candidate.own)
        self._note(candidate, watch, reason, "ok", reply=reply)
        return reply

    def _faulted(self, candidate: _Candidate, watch: Watch, reason: Reason, fault: ProviderFault) -> None:
        breaker, known, own = self.failover.breaker, candidate.known.key, candidate.own.key
        hurried = isinstance(fault, TimedOut) and fault.http_status is None and watch.was_cut_short()
        if hurried and self._left() <= 0:  # the job's own deadline says nothing about the provider
            self._released(candidate)
        else:
            breaker.faulted(own if hurried else known, fault)
            breaker.released(known if hurried else own)
        if isinstance(fault, PromptTooLong):
            self.overflows.append(fault)
        self._note(candidate, watch, reason, fault.code, fault=fault)

    def _released(self, candidate: _Candidate) -> None:
        self.failover.breaker.released(candidate.known.key)
        self.failover.breaker.released(candidate.own.key)

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
                usage=fault.usage if isinstance(fault, EmptyAnswer) else None,
                finish=fault.finish if isinstance(fault, EmptyAnswer) else None,
                http_status=fault.http_status if fault else None,
                detail=fault.detail if fault else None,
                seconds=time.monotonic() - watch.began,
                first_token=watch.first_token,
                queued=watch.queued,
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

    def _watch(self, candidate: _Candidate, abandoned: Event | None, queued: float | None = None) -> Watch:
        """The provider's limits, cut by the deadline and by what the next one needs."""
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

    def _soon_back(self, links: Sequence[ChainLink], began: float, tries: int) -> list[tuple[ChainLink, float]]:
        """Providers that answer so soon that waiting makes sense, with the seconds until they are asked again.

        A rate limit that ends; a server that loads its model; one that has answered before and is away or busy now.
        """
        now, settings = self.failover.breaker.clock(), self.failover.settings
        waited = time.monotonic() - began
        pause = min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE)
        soon = []
        for link, known, _ in self._by_health(links):
            last, most, wait = self._last(link), settings.patience, pause
            if known.health.parked_until and known.health.last_error == "rate_limited":
                wait = max(known.health.parked_until - now, 0) + 0.01
                most = settings.patience if not tries else 0.0
            elif last == Starting.code:
                most = settings.starting
            elif last not in _AWAY or not known.health.seen:
                continue
            if waited + wait <= most and wait <= self._left() - 1:
                soon.append((link, wait))
        return soon

    def _last(self, link: ChainLink) -> str | None:
        """What came of the last attempt at it."""
        return next((attempt.outcome for attempt in reversed(self.attempts) if attempt.link == link), None)

    def _is_parked(self, known: KnownHealth) -> bool:
        return known.health.state(self.failover.breaker.clock()) == "parked"

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.failover.cancelled():
                raise JobCancelled("The job was cancelled while it waited for a model.")
            time.sleep(min(left, POLL_SECONDS))


def _why_skipped(known: KnownHealth, failover: Failover) -> str:
    state = known.health.state(failover.breaker.clock())
    words = {"parked": "It asked to be left alone for a while", "open": "It failed too often and rests"}
    return f"{words.get(state, 'It is being tried by another call')} (last error: {known.health.last_error})."
