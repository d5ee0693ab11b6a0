"""Control groups, where this process may write them: limits of a whole room, whatever it forks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Group:
    """One room's group; a folder per hierarchy."""

    folders: tuple[Path, ...]
    counts_memory: bool

    def add(self, pid: int) -> None: ...

    def remove(self) -> None: ...
