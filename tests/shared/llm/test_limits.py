"""What the headers of a response say about rate limits."""

from __future__ import annotations

import pytest

from shared.llm.wires.limits import RateLimits, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("1.57s", 1.57), ("6m0s", 360.0), ("120ms", 0.12), ("1h2m3s", 3723.0), ("1d", 86400.0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", [None, "", "soon", "1x", "-5", "1m soon"])
def test_what_is_no_duration_says_nothing(text: str | None) -> None:
    assert seconds_of(text) is None


def test_a_date_in_the_past_is_now() -> None:
    assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_the_explicit_header_comes_before_the_resets() -> None:
    reset = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "90s"}

    assert RateLimits.read({**reset, "retry-after": "3"}).wait() == 3.0
    assert RateLimits.read({**reset, "retry-after": "3", "retry-after-ms": "250"}).wait() == 0.25
    assert RateLimits.read(reset).wait() == 90.0
    assert RateLimits.read({}).wait() is None


def test_a_provider_is_spent_when_the_next_request_does_not_fit() -> None:
    limits = RateLimits.read({"x-ratelimit-remaining-tokens": "100", "x-ratelimit-reset-tokens": "30s"})

    assert limits.spent_for(50) is None
    assert limits.spent_for(500) == 30.0
