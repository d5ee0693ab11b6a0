"""Tables that leave a sandbox are opened in a second sandbox first: a bad file breaks there, not here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from services.execution.sandbox.run import Frame, Outcome, Run
from shared.contracts.execute import Limits, Verdict

_CHECK = "from services.execution.languages.python.guest.soundness import demand_sound; demand_sound(table)"


def holds_together(run: Callable[[Run], AbstractContextManager[Outcome]], table: Path) -> bool:
    """Whether a whole Arrow IPC file stands there, within the caps, however small it packs what it holds."""
    limits = Limits(memory_mb=2048, wall_seconds=60, cpu_seconds=60)
    frames = {"table": Frame(table, "source")}
    with run(Run("python", _CHECK, frames=frames, limits=limits, collect=False, until="result")) as outcome:
        return outcome.verdict is Verdict.OK
