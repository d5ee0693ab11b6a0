"""What makes sandboxes: one warm interpreter that forks them, or gVisor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.execution.sandbox.language import Guest


@dataclass(frozen=True)
class Overhead:
    """What a sandbox needs in addition to its code, within its control group."""

    megabytes: int
    tasks: int
    each: int = 1  #: tasks of this machine for one of the code's
    breaks: bool = False  #: when a task is refused: then the run ends by it


class Launcher(Protocol):
    uid: int
    boots: bool  #: a sandbox reports that it has booted, and its kernel
    overhead: Overhead

    @property
    def alive(self) -> bool: ...

    def wait_warm(self, modules: Sequence[str]) -> None:
        """Wait until it is warm. Raises: SandboxUnavailable."""
        ...

    def fork(self, guest: Guest, descriptors: Sequence[int], memfd: bool) -> None:
        """Request a sandbox with these ends of its socket and pipes. Raises: SandboxUnavailable."""
        ...

    def why(self, what: str) -> str:
        """Return the message with the last output of what failed."""
        ...

    def close(self) -> None: ...
