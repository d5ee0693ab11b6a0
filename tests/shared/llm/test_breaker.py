"""The breaker: when a provider is left alone, for how long, and who may try it again; on a clock of the test's own."""

from __future__ import annotations

import pytest

from shared.llm.breaker import Breaker, BreakerSettings, ProviderHealth
from shared.llm.faults import (
    AccountRestricted,
    EndpointMoved,
    Forbidden,
    InvalidKey,
    RateLimited,
    RequestRefused,
    ServerError,
)
from shared.llm.health_store import LocalStates

KEY = "groq:mark:model"
SETTINGS = BreakerSettings(failures=2, cooldown=30, probe=60, park=60, park_unsaid=20, park_most=3600)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(LocalStates(), SETTINGS, clock)


def admit(breaker: Breaker) -> float | None:
    (known,) = breaker.look([KEY])
    return breaker.admit(known)


def state(breaker: Breaker) -> str:
    (known,) = breaker.look([KEY])
    return known.health.state(breaker.clock())


def test_so_many_failures_in_a_row_open_it(breaker: Breaker) -> None:
    breaker.faulted(KEY, ServerError("it failed"))
    assert (state(breaker), admit(breaker)) == ("closed", None)

    breaker.faulted(KEY, ServerError("it failed"))

    assert (state(breaker), admit(breaker)) == ("open", 1030.0)


def test_an_answer_between_failures_starts_the_count_anew(breaker: Breaker) -> None:
    breaker.faulted(KEY, ServerError("it failed"))
    breaker.answered(breaker.look([KEY])[0])
    breaker.faulted(KEY, ServerError("it failed"))

    assert state(breaker) == "closed"


def test_after_the_cooldown_one_probe_is_admitted(breaker: Breaker, clock: Clock) -> None:
    for _ in range(2):
        breaker.faulted(KEY, ServerError("it failed"))
    clock.now += 30

    assert state(breaker) == "half_open"
    assert admit(breaker) is None
    assert admit(breaker) == clock.now + 60, "until the probe counts as lost"


def test_a_failed_probe_opens_it_again_and_an_answered_one_closes_it(breaker: Breaker, clock: Clock) -> None:
    for _ in range(2):
        breaker.faulted(KEY, ServerError("it failed"))
    clock.now += 30
    admit(breaker)
    breaker.faulted(KEY, ServerError("it failed"))
    assert (state(breaker), admit(breaker)) == ("open", clock.now + 30)

    clock.now += 30
    admit(breaker)
    breaker.answered(breaker.look([KEY])[0])

    assert (state(breaker), admit(breaker)) == ("closed", None)


def test_a_probe_that_was_abandoned_lets_another_one_through(breaker: Breaker, clock: Clock) -> None:
    for _ in range(2):
        breaker.faulted(KEY, ServerError("it failed"))
    clock.now += 30
    admit(breaker)

    breaker.released(KEY)

    assert admit(breaker) is None


@pytest.mark.parametrize(
    ("retry_after", "seconds"), [(7.0, 7.0), (None, 20.0), (1e9, 3600.0)], ids=["said", "unsaid", "too-long"]
)
def test_a_rate_limit_parks_it(breaker: Breaker, clock: Clock, retry_after: float | None, seconds: float) -> None:
    breaker.faulted(KEY, RateLimited("too many", 429, retry_after))

    assert (state(breaker), admit(breaker)) == ("parked", clock.now + seconds)
    clock.now += seconds
    assert admit(breaker) is None


def test_what_an_operator_has_to_mend_parks_it_and_what_the_request_causes_does_not(breaker: Breaker) -> None:
    breaker.faulted(KEY, RequestRefused("not this"))
    assert state(breaker) == "closed"
    assert breaker.look([KEY])[0].health.last_error == "request_refused"

    for fault in (InvalidKey("no"), Forbidden("no"), AccountRestricted("no"), EndpointMoved("elsewhere")):
        breaker.closed(KEY)
        breaker.faulted(KEY, fault)
        assert state(breaker) == "parked"


def test_a_provider_that_refuses_everything_is_called_but_not_shown_healthy(breaker: Breaker, clock: Clock) -> None:
    def shown() -> str:
        return breaker.look([KEY])[0].health.shown(clock.now, breaker.settings)

    for refused in range(breaker.settings.failures):
        assert (shown(), admit(breaker)) == ("closed", None), refused
        breaker.faulted(KEY, RequestRefused("not this"))
    assert (shown(), state(breaker), admit(breaker)) == ("refusing", "closed", None)
    breaker.answered(breaker.look([KEY])[0])
    assert shown() == "closed"
    breaker.faulted(KEY, InvalidKey("no"))
    clock.now += breaker.settings.park
    assert (shown(), admit(breaker)) == ("refusing", None), "until it answers, whoever parked it"


def test_a_nearly_spent_provider_is_deferred_until_it_has_room_again(breaker: Breaker, clock: Clock) -> None:
    breaker.answered(breaker.look([KEY])[0], spent_for=30.0)

    (known,) = breaker.look([KEY])
    assert (known.health.deferred_until, state(breaker)) == (clock.now + 30, "closed")


def test_health_that_cannot_be_read_is_good_health() -> None:
    for data in (b"", b"{", b"[]", b'{"unknown": 1}', b"\xff"):
        assert ProviderHealth.load(data) == ProviderHealth()
    assert ProviderHealth.load(ProviderHealth(failures=2, last_error="x").dump()) == ProviderHealth(
        failures=2, last_error="x"
    )


def test_somebody_who_knows_better_closes_it(breaker: Breaker) -> None:
    breaker.faulted(KEY, RateLimited("too many", retry_after=600))
    assert state(breaker) == "parked"
    breaker.closed(KEY)
    assert (state(breaker), admit(breaker)) == ("closed", None)
    assert breaker.look([KEY])[0].health.last_error == "rate_limited", "what it said last stays"
