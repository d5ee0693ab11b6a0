"""Rate limits of a provider, read from a response's headers and messages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Literal

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
#: ``Please try again in 5m2.25s``, ``retry after 34 seconds``, ``Retry in 1.5 minutes``.
_AGAIN = re.compile(
    r"(?:try again|retry|wait)(?: (?:in|after|for))? ((?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+|\d+(?:\.\d+)?)"
    r"(?:\s*(seconds?|secs?|minutes?|mins?|hours?|milliseconds?)\b)?",
    re.I,
)
_UNITS = {"m": 60.0, "h": 3600.0, "milli": 0.001}
#: After this a number is a moment of 1970's clock, in seconds or milliseconds, and no duration.
_CLOCK, _CLOCK_MS = 1e9, 1e11


def seconds_of(text: str | None) -> float | None:
    """Return the seconds of ``7``, ``1.57s``, ``6m0s``, ``120ms``, or a time (ISO, HTTP, Unix); None for anything
    else.
    """
    text = (text or "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        number = float(text)
        if number < _CLOCK:
            return number
        return max(0.0, (number / 1000 if number > _CLOCK_MS else number) - time.time())
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    moment = _moment(text)
    return None if moment is None else max(0.0, moment - time.time())


def _moment(text: str) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return read(text).timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def seconds_in(message: str) -> float | None:
    """Return the wait that a refusal's message names."""
    match = _AGAIN.search(message)
    if match is None:
        return None
    unit = (match[2] or "").lower()
    factor = next((factor for start, factor in reversed(_UNITS.items()) if unit.startswith(start)), 1.0)
    seconds = seconds_of(match[1])
    return None if seconds is None else seconds * factor


@dataclass(frozen=True)
class Allowance:
    """One limit: what is left of it, and the seconds until it is whole again."""

    of: Literal["requests", "tokens"]
    left: int | None
    reset: float | None


#: Groq, OpenAI, Azure and Mistral have ``requests`` and ``tokens``; Cerebras and DigitalOcean add the period;
#: Anthropic has its own prefix, and counts input and output separately.
_REMAINING = re.compile(r"x-ratelimit-remaining-(requests|tokens)((?:-per)?-\w+)?")
_ANTHROPIC = re.compile(r"anthropic-ratelimit-(?:input-|output-)?(requests|tokens)-remaining")


_RESETS = (
    "ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "ratelimitbysize-reset",
)
_DRAFT = re.compile(r";\s*t=(\d+)")


@dataclass(frozen=True)
class RateLimits:
    """The limits that the headers name."""

    allowances: tuple[Allowance, ...] = ()
    retry_after: float | None = None
    reset: float | None = None  #: of one limit that has no name (Kong, Together, gateways)

    @classmethod
    def read(cls, headers: Mapping[str, str]) -> RateLimits:
        milliseconds = headers.get("retry-after-ms")
        wait = seconds_of(milliseconds and f"{milliseconds}ms")
        if wait is None and (after := headers.get("retry-after")):
            wait = seconds_of(after) if seconds_of(after) is not None else seconds_of(after.partition(",")[0])
        return cls(tuple(_allowances(headers)), wait, _reset(headers))

    def wait(self) -> float | None:
        """Return how long a refused caller has to wait, by the most precise header."""
        if self.retry_after is not None:
            return self.retry_after
        known = [(each, each.reset) for each in self.allowances if each.reset is not None]
        spent = [reset for each, reset in known if each.left is not None and each.left <= 0]
        if spent:
            return max(spent)
        # It refused although something is left of each: the request did not fit into what soonest is whole again.
        tokens = [reset for each, reset in known if each.of == "tokens" and each.left is not None]
        return min(tokens) if tokens else self.reset

    def spent_for(self, tokens: int) -> float | None:
        """Return the seconds until a request of that many tokens fits again; None when it fits now or the headers do
        not say.
        """
        waits = [
            each.reset or 0.0
            for each in self.allowances
            if each.left is not None and each.left < (tokens if each.of == "tokens" else 1)
        ]
        return max(waits) if waits and max(waits) > 0 else None


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the only limit of a gateway is whole again, also by the draft of the IETF (``t=``)."""
    named = next((value for name in _RESETS if (value := headers.get(name))), None)
    if named is None and (match := _DRAFT.search(headers.get("ratelimit") or "")):
        named = match[1]
    return seconds_of(named)


def _allowances(headers: Mapping[str, str]) -> Iterator[Allowance]:
    for name, value in headers.items():
        if match := _REMAINING.fullmatch(name.lower()):
            reset = headers.get(f"x-ratelimit-reset-{match[1]}{match[2] or ''}")
        elif match := _ANTHROPIC.fullmatch(name.lower()):
            reset = headers.get(name.lower().replace("-remaining", "-reset"))
        else:
            continue
        yield Allowance("requests" if match[1] == "requests" else "tokens", _count(value), seconds_of(reset))


def _count(text: str | None) -> int | None:
    try:
        return int(float(text)) if text else None
    except (ValueError, OverflowError):
        return None
