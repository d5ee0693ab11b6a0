"""Hedging: the first answer wins, and the calls that are no longer needed are cancelled."""

from __future__ import annotations

from threading import Event

import pytest

from shared.llm.chat import ChatReply
from shared.llm.hedge import Hedge, race

LONG = 600.0  #: seconds; the time limit of tests ends one that waits for so long


def reply(name: str) -> ChatReply:
    return ChatReply(name, name, "model")


class Providers:
    """Each answers, fails, raises, or waits until it is cancelled."""

    def __init__(self, **behaviour: str) -> None:
        self.behaviour = behaviour
        self.asked: list[tuple[str, str | None]] = []
        self.stopped = Event()

    def __call__(self, candidate: str, abandoned: Event | None = None, reason: Hedge | None = None) -> ChatReply | None:
        self.asked.append((candidate, reason))
        match self.behaviour[candidate]:
            case "answers":
                return reply(candidate)
            case "fails":
                return None
            case "raises":
                raise ValueError(candidate)
            case _:
                assert abandoned is not None
                assert abandoned.wait(LONG)
                self.stopped.set()
                return None


def test_a_quick_answer_is_the_only_one_that_is_asked_for() -> None:
    ask = Providers(first="answers", second="answers")

    assert race(iter(ask.behaviour), ask, after=LONG) == reply("first")
    assert ask.asked == [("first", None)]


def test_after_a_silence_the_next_one_is_asked_and_the_silent_one_is_stopped() -> None:
    ask = Providers(first="waits", second="answers")

    assert race(iter(ask.behaviour), ask, after=0.05) == reply("second")
    assert ask.asked == [("first", None), ("second", "hedge")]
    assert ask.stopped.wait(LONG)


def test_after_a_failure_the_next_one_is_asked_at_once() -> None:
    ask = Providers(first="fails", second="answers")

    assert race(iter(ask.behaviour), ask, after=LONG) == reply("second")
    assert ask.asked == [("first", None), ("second", None)]


def test_when_all_have_failed_there_is_no_answer() -> None:
    ask = Providers(first="fails", second="fails")

    assert race(iter(ask.behaviour), ask, after=LONG) is None


def test_an_error_ends_the_race() -> None:
    ask = Providers(first="waits", second="raises")

    with pytest.raises(ValueError, match="second"):
        race(iter(ask.behaviour), ask, after=0.05)
    assert ask.stopped.wait(LONG)
