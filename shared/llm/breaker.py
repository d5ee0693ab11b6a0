"""Circuit breaker per (provider, model), shared by all workers: decides which providers may be called now."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from shared.llm.faults import Mark, ProviderFault, RateLimited
from shared.llm.health_store import States

State = Literal["closed", "open", "half_open", "parked"]
ShownState = State | Literal["refusing"]


@dataclass(frozen=True)
class BreakerSettings:
    """When calls to a provider are suspended, and for how long (seconds)."""

    failures: int = 3  #: in a row, then it is open
    cooldown: float = 30.0
    probe: float = 60.0  #: after this a probe counts as lost
    park: float = 60.0  #: for faults that an operator has to fix
    park_unsaid: float = 20.0  #: for a rate limit without a time
    park_most: float = 3600.0


@dataclass(frozen=True)
class ProviderHealth:
    """Times are seconds since 1970; 0 is never."""

    failures: int = 0
    open_until: float = 0.0
    probe_until: float = 0.0
    parked_until: float = 0.0
    deferred_until: float = 0.0  #: nearly spent: others first
    last_error: str | None = None
    seen: bool = False  #: it has answered before, so its address is right
    refusals: int = 0  #: calls in a row that it answered with a refusal, which opens nothing

    def state(self, now: float) -> State:
        if self.parked_until > now:
            return "parked"
        if not self.open_until:
            return "closed"
        return "open" if self.open_until > now else "half_open"

    def shown(self, now: float, settings: BreakerSettings) -> ShownState:
        """Return the state to display: a provider whose every call is refused is not shown as healthy."""
        state = self.state(now)
        return "refusing" if state == "closed" and self.refusals >= settings.failures else state

    def until(self, now: float) -> float | None:
        """Return when the current state ends without a further call."""
        match self.state(now):
            case "parked":
                return self.parked_until
            case "open":
                return self.open_until
            case _:
                return None

    def blocked_until(self, now: float) -> float | None:
        """Return the time until which calls are blocked; None when a call is allowed (half open: one probe)."""
        if self.state(now) == "half_open":
            return self.probe_until if self.probe_until > now else None
        return self.until(now)

    def probing(self, now: float, settings: BreakerSettings) -> ProviderHealth:
        return replace(self, probe_until=now + settings.probe)

    def answered(self, now: float) -> ProviderHealth:
        return ProviderHealth(deferred_until=self.deferred_until if self.deferred_until > now else 0.0, seen=True)

    def released(self) -> ProviderHealth:
        return replace(self, probe_until=0.0)

    def failed(self, now: float, settings: BreakerSettings, error: str) -> ProviderHealth:
        """Count a failure; the last allowed one, or a failed probe, opens the breaker."""
        failures = self.failures + 1
        opens = failures >= settings.failures or self.open_until > 0
        until = now + settings.cooldown if opens else 0.0
        return replace(self, failures=failures, open_until=until, probe_until=0.0, last_error=error)

    def parked(self, now: float, seconds: float, settings: BreakerSettings, error: str) -> ProviderHealth:
        until = now + min(max(seconds, 0.05), settings.park_most)
        refusals = self.refusals if error == RateLimited.code else max(self.refusals + 1, settings.failures)
        until = max(until, self.parked_until)
        return replace(self, parked_until=until, probe_until=0.0, last_error=error, refusals=refusals)

    def noted(self, error: str, *, refused: bool = False) -> ProviderHealth:
        return replace(self, probe_until=0.0, last_error=error, refusals=self.refusals + refused)

    def deferred(self, now: float, seconds: float, settings: BreakerSettings) -> ProviderHealth:
        return replace(self, deferred_until=now + min(seconds, settings.park_most))

    def dump(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def load(cls, data: bytes | None) -> ProviderHealth:
        """Unknown or broken data is as good as none."""
        try:
            return cls(**json.loads(data)) if data else cls()
        except (ValueError, TypeError):
            return cls()


Change = Callable[[ProviderHealth, float], ProviderHealth]


@dataclass(frozen=True)
class KnownHealth:
    """Health as it was read; ``raw`` is what a swap compares with."""

    key: str
    health: ProviderHealth
    raw: bytes


@dataclass(frozen=True)
class Breaker:
    """Keys name a provider, its endpoint and a model."""

    states: States
    settings: BreakerSettings = field(default_factory=BreakerSettings)
    clock: Callable[[], float] = time.time

    def look(self, keys: Sequence[str]) -> list[KnownHealth]:
        values = self.states.read(keys) if keys else []
        return [KnownHealth(key, ProviderHealth.load(raw), raw) for key, raw in zip(keys, values, strict=True)]

    def admit(self, known: KnownHealth) -> float | None:
        """Return None to proceed, otherwise the time until which calls are blocked. Half open admits a single probe."""
        while True:
            now = self.clock()
            blocked = known.health.blocked_until(now)
            if blocked is not None or known.health.state(now) == "closed":
                return blocked
            if self.states.swap(known.key, known.raw, known.health.probing(now, self.settings).dump()):
                return None
            (known,) = self.look([known.key])

    def answered(self, known: KnownHealth, spent_for: float | None = None) -> None:
        """Record a success; for ``spent_for`` seconds the provider takes no further request of this size."""

        def change(health: ProviderHealth, now: float) -> ProviderHealth:
            health = health.answered(now)
            return health if spent_for is None else health.deferred(now, spent_for, self.settings)

        if change(known.health, self.clock()) != known.health:  # no round trip to Redis while all is well
            self._change(known.key, change)

    def faulted(self, key: str, fault: ProviderFault) -> None:
        """Count the failure, or park it, as the fault's mark says."""

        def change(health: ProviderHealth, now: float) -> ProviderHealth:
            match fault.mark:
                case Mark.COUNT:
                    return health.failed(now, self.settings, fault.code)
                case Mark.PARK:
                    unsaid = self.settings.park_unsaid if isinstance(fault, RateLimited) else self.settings.park
                    seconds = unsaid if fault.retry_after is None else fault.retry_after
                    return health.parked(now, seconds, self.settings, fault.code)
                case Mark.NOTE:
                    return health.noted(fault.code, refused=True)
                case Mark.NOTHING:
                    return health.noted(fault.code)

        self._change(key, change)

    def released(self, key: str) -> None:
        """Release the probe slot without a result, because the call was abandoned."""
        self._change(key, lambda health, now: health.released())

    def closed(self, key: str) -> None:
        """Reset failures and limits when an operator confirms that the provider works again."""
        self._change(key, lambda health, now: ProviderHealth(seen=health.seen, last_error=health.last_error))

    def _change(self, key: str, change: Change) -> None:
        for _ in range(20):
            (known,) = self.look([key])
            changed = change(known.health, self.clock())
            if changed == known.health or self.states.swap(key, known.raw, changed.dump()):
                return
