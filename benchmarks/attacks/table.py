"""All attacks by name."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.attacks import bodies, connections, work
from benchmarks.attacks.attacker import Attack

ATTACKS: Mapping[str, Attack] = {
    attack.__name__.replace("_", "-"): attack for attack in (*bodies.ATTACKS, *connections.ATTACKS, *work.ATTACKS)
}
