"""What every command has at hand: the client, and where to print what."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay import Client
    from assay.calls.call import ApiCall

DONE, FAILED, USAGE, NOT_FOUND, NOT_AUTHORISED, UNREACHABLE, TIMED_OUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 124, 130
ASKED = 6  #: a model has a question
UNVERIFIED = 7  #: the result is not proven


class UsageError(Exception):
    """The command was called in a way that cannot mean anything."""


@dataclass(frozen=True)
class Globals:
    """The flags that every command takes, before or after its name."""

    url: str | None = None
    api_key: str | None = None
    json: bool = False
    quiet: bool = False
    profile: str | None = None


class CommandLine:
    """Data goes to standard output, talk to standard error."""

    def __init__(self, flags: Globals) -> None:
        self.flags = flags
        self.job: str | None = None  #: the one that is waited for

    @cached_property
    def client(self) -> Client:
        from assay import Client  # noqa: PLC0415 - httpx2 costs a tenth of a second

        return Client(self.flags.url, self.flags.api_key, profile=self.flags.profile)

    @cached_property
    def json(self) -> bool:
        """Whether answers are printed as JSON: as --json says, else the profile."""
        if self.flags.json:
            return True
        from assay import profiles  # noqa: PLC0415
        from assay.transport import chosen_profile  # noqa: PLC0415

        with suppress(profiles.ProfileError):  # a command that calls the server reports the error
            profile = chosen_profile(self.flags.profile, os.environ)
            return profile is not None and profile.output == "json"
        return False

    @property
    def lively(self) -> bool:
        """Whether a person watches: progress may be drawn."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not self.flags.quiet and not self.json

    def show(self, data: Any, text: Callable[[Any], str | None]) -> None:
        """Print an answer: the API's JSON, or the text that ``text`` makes of it."""
        if self.json:
            self.out(json.dumps(data, ensure_ascii=False))
            return
        line = text(data)
        if line:
            self.out(line)

    def out(self, text: str) -> None:
        if sys.stdout.isatty():
            text = visible(text)
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        if not self.flags.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a message that --quiet does not suppress."""
        sys.stderr.write(f"{visible(text) if sys.stderr.isatty() else text}\n")
        sys.stderr.flush()


#: Colours, line ends, and what a terminal obeys or hides: control characters and changes of the writing direction.
_CONTROLS = re.compile(r"\x1b\[[0-9;]{0,32}m|\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Escape a text for a terminal: outputs and file names may hold sequences that move its cursor or set its title."""
    return _CONTROLS.sub(lambda match: match[0] if len(match[0]) > 1 else ascii(match[0])[1:-1], text)


_current: ContextVar[CommandLine] = ContextVar("session")


def begin(flags: Globals) -> CommandLine:
    session = CommandLine(flags)
    _current.set(session)
    return session


def current() -> CommandLine:
    return _current.get()


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask before a step that cannot be taken back. Raises: UsageError without a terminal, where ``--yes`` answers."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Confirm with --yes.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def answer(call: ApiCall[Any], text: Callable[[Any], str | None]) -> None:
    """Send a call, and print the server's answer: unchanged as JSON, or as the text that ``text`` makes of it."""
    fetched = current().client.fetch(call)
    current().show(fetched, text)
    for warning in fetched.get("warnings") or () if isinstance(fetched, dict) else ():
        current().warn(f"warning: {warning}")
