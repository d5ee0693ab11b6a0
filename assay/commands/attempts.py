"""The code of each attempt as a person wants to see it: the first one whole, then what changed."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.events import JobEvent

_INDENT = "    "


class Attempts:
    """Remembers the last attempt of one job."""

    def __init__(self) -> None:
        self._last: list[str] | None = None

    def lines(self, event: JobEvent) -> list[str]:
        """What to show under a turn: its code, or its difference from the attempt before; nothing without code."""
        proposal: Any = event.data.get("proposal") if event.type == "turn_taken" else None
        code = proposal.get("code") if isinstance(proposal, Mapping) else None
        if not code:
            return []
        new = str(code).rstrip().splitlines()
        last, self._last = self._last, new
        if last is None:
            return [_INDENT + line for line in new]
        changed = list(unified_diff(last, new, lineterm="", n=1))[2:]  # without the file names
        return [_INDENT + line for line in changed if not line.startswith("@@")]
