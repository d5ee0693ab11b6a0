"""How strong the isolation is: what this worker's kernel turns out to be, and whether that is enough."""

from __future__ import annotations

from typing import get_args

from services.execution.sandbox.protocol.gvisor import runs_on_gvisor
from services.execution.sandbox.run import Isolation, Tier
from services.execution.sandbox.settings import SandboxSettings
from shared.errors import SandboxUnavailable

_TIERS: tuple[Tier, ...] = get_args(Tier)


def isolation(settings: SandboxSettings) -> Isolation:
    """Return the isolation. Raises: SandboxUnavailable when it is below the minimum."""
    # Each sandbox proves its own kernel when it starts; what is around this worker counts as well.
    tier: Tier = "gvisor" if settings.runtime == "gvisor" or runs_on_gvisor() else "ns"
    claimed = settings.claimed_tier if _TIERS.index(settings.claimed_tier) > _TIERS.index(tier) else None
    reached = claimed or tier
    if _TIERS.index(reached) < _TIERS.index(settings.minimum):
        raise SandboxUnavailable(f"Code is isolated by {reached} here; {settings.minimum} is required.")
    return Isolation(tier, claimed)
