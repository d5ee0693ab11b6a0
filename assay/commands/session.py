"""What every command has at hand: the client, and where to print what."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay import Client

DONE, FAILED, USAGE, NOT_FOUND, NOT_AUTHORISED, UNREACHABLE, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 124, 130


class UsageError(Exception):
    """The command was called in a way that cannot mean anything."""


@dataclass(frozen=True)
class Globals:
    """The flags that every command takes, before or after its name."""

    url: str | None = None
    api_key: str | None = None
    json: bool = False
    quiet: bool = False


class Session:
    """Data goes to standard output, talk to standard error."""

    def __init__(self, flags: Globals) -> None:
        self.flags = flags

    @cached_property
    def client(self) -> Client:
        from assay import Client  # noqa: PLC0415 - httpx2 costs a tenth of a second

        return Client(self.flags.url, self.flags.api_key)

    @property
    def json(self) -> bool:
        return self.flags.json

    @property
    def lively(self) -> bool:
        """Whether a person watches: progress may be drawn."""
        import os  # noqa: PLC0415

        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not self.flags.quiet and not self.json

    def show(self, data: Any, text: Callable[[Any], str | None]) -> None:
        """Print an answer: as the API gave it, or as ``text`` tells it."""
        if self.json:
            self.out(json.dumps(data, ensure_ascii=False))
            return
        told = text(data)
        if told:
            self.out(told)

    def out(self, text: str) -> None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        if not self.flags.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """What has to be said even when asked to be quiet."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


_current: ContextVar[Session] = ContextVar("session")


def begin(flags: Globals) -> Session:
    session = Session(flags)
    _current.set(session)
    return session


def current() -> Session:
    return _current.get()
