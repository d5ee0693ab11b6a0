"""The programs of an installation, each as the supervisor sees it: begin, is it ready, how to end it."""

from __future__ import annotations

import http.client
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.host.child import Running
from services.host.offspring import Nursery


class Program(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def grace_seconds(self) -> float: ...
    @property
    def ending(self) -> signal.Signals: ...
    def begin(self) -> Running: ...
    def is_ready(self) -> bool: ...
    def leave(self) -> None:
        """Clean up after the end."""
        ...


@dataclass(frozen=True)
class Worker:
    """A Python process of the platform."""

    name: str
    nursery: Nursery
    module: str
    env: Mapping[str, str]
    cwd: Path
    log: Path
    ready_file: Path
    http: tuple[str, int, str] | None  #: ask there (host, port, path) instead of looking for the file
    grace_seconds: float
    arguments: Sequence[str] = ()
    ending: signal.Signals = signal.SIGTERM

    def begin(self) -> Running:
        self.ready_file.unlink(missing_ok=True)
        return self.nursery.begin(self.module, self.arguments, self.env, self.cwd, self.log)

    def is_ready(self) -> bool:
        return _answers(*self.http) if self.http is not None else self.ready_file.exists()

    def leave(self) -> None:
        self.ready_file.unlink(missing_ok=True)


def _answers(host: str, port: int, path: str) -> bool:
    line = http.client.HTTPConnection(host, port, timeout=1)
    try:
        line.request("GET", path)
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
