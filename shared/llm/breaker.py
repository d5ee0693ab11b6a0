"""Which providers may be asked now: a circuit breaker per (provider, model), shared by all workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shared.llm.faults import Mark, ProviderFault, RateLimited
from shared.llm.health import BreakerSettings, ProviderHealth
from shared.llm.states import States

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
        """None: go ahead. Otherwise the time until which it may not be asked. A half-open one admits a single probe."""
        while True:
            now = self.clock()
            blocked = known.health.blocked_until(now)
            if blocked is not None or known.health.state(now) == "closed":
                return blocked
            if self.states.swap(known.key, known.raw, known.health.probing(now, self.settings).dump()):
                return None
            (known,) = self.look([known.key])

    def answered(self, known: KnownHealth, spent_for: float | None = None) -> None:
        """It works; for ``spent_for`` seconds it takes no further request of this size."""

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
                case Mark.NOTHING:
                    return health.noted(fault.code)

        self._change(key, change)

    def released(self, key: str) -> None:
        """Nothing was learned: the call was abandoned, another one may probe."""
        self._change(key, lambda health, now: health.released())

    def _change(self, key: str, change: Change) -> None:
        for _ in range(20):
            (known,) = self.look([key])
            changed = change(known.health, self.clock())
            if changed == known.health or self.states.swap(key, known.raw, changed.dump()):
                return
