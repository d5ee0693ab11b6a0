"""What is known about one (provider, model), and how each event changes it: pure values without storage."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal

State = Literal["closed", "open", "half_open", "parked"]


@dataclass(frozen=True)
class BreakerSettings:
    """When a provider is not asked any more, and for how long (seconds)."""

    failures: int = 3  #: in a row, then it is open
    cooldown: float = 30.0
    probe: float = 60.0  #: after this a probe counts as lost
    park: float = 60.0  #: for faults that an operator has to mend
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

    def state(self, now: float) -> State:
        if self.parked_until > now:
            return "parked"
        if not self.open_until:
            return "closed"
        return "open" if self.open_until > now else "half_open"

    def until(self, now: float) -> float | None:
        """When the state ends by itself."""
        match self.state(now):
            case "parked":
                return self.parked_until
            case "open":
                return self.open_until
            case _:
                return None

    def blocked_until(self, now: float) -> float | None:
        """Until when it may not be asked; None when it may (half open: once, as a probe)."""
        if self.state(now) == "half_open":
            return self.probe_until if self.probe_until > now else None
        return self.until(now)

    def probing(self, now: float, settings: BreakerSettings) -> ProviderHealth:
        return replace(self, probe_until=now + settings.probe)

    def answered(self, now: float) -> ProviderHealth:
        return ProviderHealth(deferred_until=self.deferred_until if self.deferred_until > now else 0.0)

    def released(self) -> ProviderHealth:
        return replace(self, probe_until=0.0)

    def failed(self, now: float, settings: BreakerSettings, error: str) -> ProviderHealth:
        """One more failure; the last one allowed, or a failed probe, opens."""
        failures = self.failures + 1
        opens = failures >= settings.failures or self.open_until > 0
        until = now + settings.cooldown if opens else 0.0
        return replace(self, failures=failures, open_until=until, probe_until=0.0, last_error=error)

    def parked(self, now: float, seconds: float, settings: BreakerSettings, error: str) -> ProviderHealth:
        until = now + min(max(seconds, 0.05), settings.park_most)
        return replace(self, parked_until=max(until, self.parked_until), probe_until=0.0, last_error=error)

    def noted(self, error: str) -> ProviderHealth:
        return replace(self, probe_until=0.0, last_error=error)

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
