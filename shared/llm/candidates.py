"""Which links of a chain may be called now, by the shared health and the tenant's own health."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from shared.llm.attempts import Attempts
from shared.llm.breaker import Breaker, KnownHealth
from shared.llm.chat import ChainLink, Reason
from shared.llm.faults import ConnectionFailed, ProviderFault, ProviderOverloaded, RateLimited, Starting, StreamCut
from shared.llm.slots import CallSlots
from shared.llm.vendors.adapter import Adapter

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 2.0  #: seconds before an unreachable provider is called again
_AWAY = (ConnectionFailed.code, ProviderOverloaded.code, StreamCut.code)


@dataclass(frozen=True)
class Candidate:
    """A link that may be called now."""

    link: ChainLink
    known: KnownHealth  #: shared by all tenants
    own: KnownHealth  #: to this tenant: calls that it gave less time than the provider may take
    reason: Reason
    last: bool


@dataclass(frozen=True)
class Candidates:
    """The links of a chain as the circuit breaker sees them, for one tenant's request."""

    adapters: Mapping[str, Adapter]
    breaker: Breaker
    tenant: str
    attempts: Attempts
    slots: CallSlots

    def admitted(
        self, links: Sequence[ChainLink], in_time: Callable[[], bool], *, again: bool, resting: bool
    ) -> Iterator[Candidate]:
        """Yield the links that may be called while there is time, in their order, but among servers of one model the
        least loaded first, and nearly exhausted ones last; skipped links are recorded.

        ``resting``: include links with an open breaker, but not those that requested a pause.
        """
        ordered = self._by_health(self._by_load(links))
        for position, (link, known, own) in enumerate(ordered):
            if not in_time():
                return
            blocking = self._blocking(known, own)
            if blocking is not None and resting and not self._is_parked(blocking):
                blocking = None
            if blocking is not None:
                if not resting:
                    self.attempts.skipped(link, self._why_skipped(blocking))
                continue
            first = not position and not self.attempts.made
            reason: Reason = "retry" if again else "primary" if first else "failover"
            yield Candidate(link, known, own, reason, position == len(ordered) - 1)

    def soon_back(
        self, links: Sequence[ChainLink], tries: int, patience: float, starting: float
    ) -> Iterator[tuple[ChainLink, float, float]]:
        """Yield providers that may answer soon, with the seconds until the next call and the maximum wait.

        Covers a rate limit that ends, a server that loads its model, and one that answered before and is unreachable or
        busy.
        """
        now, pause = self.breaker.clock(), min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE)
        for link, known, _ in self._by_health(links):
            last = self.attempts.last_of(link)
            if known.health.parked_until and known.health.last_error == "rate_limited":
                yield link, max(known.health.parked_until - now, 0) + 0.01, patience if not tries else 0.0
            elif last == Starting.code:
                yield link, pause, starting
            elif last in _AWAY and known.health.seen:
                yield link, pause, patience

    def faulted(self, candidate: Candidate, fault: ProviderFault, hurried: bool) -> None:
        """``hurried``: the tenant had given it less time than it may take, which says nothing to others."""
        known, own = candidate.known.key, candidate.own.key
        self.breaker.faulted(own if hurried else known, fault)
        self.breaker.released(known if hurried else own)

    def answered(self, candidate: Candidate, spent_for: float | None) -> None:
        """``spent_for``: seconds for which it takes no further request of this size."""
        self.breaker.answered(candidate.known, spent_for)
        self.breaker.answered(candidate.own)

    def released(self, candidate: Candidate) -> None:
        """Release the probe slots without a result: the call was not made, or was abandoned."""
        self.breaker.released(candidate.known.key)
        self.breaker.released(candidate.own.key)

    def freer(self, waiting: ChainLink, links: Sequence[ChainLink]) -> Callable[[], bool] | None:
        """Return a function that reports whether another server of the same model has a free slot; None without such a
        server.
        """
        alike = next((group for group in self._alike(links) if waiting in group), [])
        same = [link for link in alike if link != waiting]
        if not same or self._concurrency(waiting) is None:
            return None
        keys = [self.adapters[link.provider].endpoint.key(link.model) for link in same]

        def free() -> bool:
            loads = zip(same, self.slots.loads(keys), strict=True)
            return any(load < (self._concurrency(link) or 0) for link, load in loads)

        return free

    def _by_load(self, links: Sequence[ChainLink]) -> list[ChainLink]:
        """Neighbours in the chain that serve the same model and count their calls: the least loaded one first."""
        ordered: list[ChainLink] = []
        for same in self._alike(links):
            if len(same) > 1 and self._concurrency(same[0]) is not None:
                loads = self.slots.loads([self.adapters[link.provider].endpoint.key(link.model) for link in same])
                shares = [load / (self._concurrency(link) or 1) for link, load in zip(same, loads, strict=True)]
                ordered += [same[place] for place in sorted(range(len(same)), key=shares.__getitem__)]
            else:
                ordered += same
        return ordered

    def _alike(self, links: Sequence[ChainLink]) -> Iterator[list[ChainLink]]:
        """Neighbours that serve the same model, and that all count their calls or none of them."""
        for _, group in groupby(links, key=lambda link: (link.model, self._concurrency(link) is not None)):
            yield list(group)

    def _concurrency(self, link: ChainLink) -> int | None:
        return self.adapters[link.provider].endpoint.concurrency

    def _by_health(self, links: Sequence[ChainLink]) -> list[tuple[ChainLink, KnownHealth, KnownHealth]]:
        """Return the links with their shared and per-tenant health; nearly exhausted ones last."""
        keys = [self.adapters[link.provider].endpoint.key(link.model) for link in links]
        known = self.breaker.look([*keys, *(f"{key}:of:{self.tenant}" for key in keys)])
        now, count = self.breaker.clock(), len(links)
        each = zip(links, known[:count], known[count:], strict=True)
        return sorted(each, key=lambda entry: entry[1].health.deferred_until > now)

    def _blocking(self, known: KnownHealth, own: KnownHealth) -> KnownHealth | None:
        """Return the health that forbids the call; None when the call may proceed."""
        if self.breaker.admit(own) is not None:
            return own
        if self.breaker.admit(known) is None:
            return None
        self.breaker.released(own.key)
        return known

    def _is_parked(self, known: KnownHealth) -> bool:
        return known.health.state(self.breaker.clock()) == "parked"

    def _why_skipped(self, known: KnownHealth) -> str:
        state, error = known.health.state(self.breaker.clock()), known.health.last_error
        if state == "parked" and error != RateLimited.code:
            return (
                f"It is not called for a while, because its last refusal does not heal by itself (last error: {error})."
            )
        words = {"parked": "It requested a pause", "open": "It failed too often and rests"}
        return f"{words.get(state, 'It is being tried by another call')} (last error: {error})."
