"""What a response's headers say about how much more may be asked, and when."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def seconds_of(text: str | None) -> float | None:
    """Seconds in ``7``, ``1.57s``, ``6m0s``, ``120ms`` or an HTTP date; None for anything else."""
    text = (text or "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


@dataclass(frozen=True)
class RateLimits:
    """Groq's ``x-ratelimit-*``, where present; None where not."""

    requests_left: int | None = None
    requests_reset: float | None = None
    tokens_left: int | None = None
    tokens_reset: float | None = None
    retry_after: float | None = None

    @classmethod
    def read(cls, headers: Mapping[str, str]) -> RateLimits:
        return cls(
            _count(headers.get("x-ratelimit-remaining-requests")),
            seconds_of(headers.get("x-ratelimit-reset-requests")),
            _count(headers.get("x-ratelimit-remaining-tokens")),
            seconds_of(headers.get("x-ratelimit-reset-tokens")),
            seconds_of(headers.get("retry-after-ms") and f"{headers.get('retry-after-ms')}ms")
            or seconds_of(headers.get("retry-after")),
        )

    def wait(self) -> float | None:
        """How long a refused caller has to wait, by the best header there is."""
        if self.retry_after is not None:
            return self.retry_after
        spent = [
            reset
            for left, reset in ((self.requests_left, self.requests_reset), (self.tokens_left, self.tokens_reset))
            if left is not None and left <= 0 and reset is not None
        ]
        return max(spent) if spent else None

    def spent_for(self, tokens: int) -> float | None:
        """Seconds until a request of that many tokens fits again; None when it fits now or the headers do not say."""
        waits = []
        if self.requests_left is not None and self.requests_left <= 0:
            waits.append(self.requests_reset or 0.0)
        if self.tokens_left is not None and self.tokens_left < tokens:
            waits.append(self.tokens_reset or 0.0)
        return max(waits) if waits and max(waits) > 0 else None


def _count(text: str | None) -> int | None:
    try:
        return int(float(text)) if text else None
    except (ValueError, OverflowError):
        return None
