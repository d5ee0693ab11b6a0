"""What refusals of a provider's models taught: windows, caps, and parts that are not taken; each has an end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Literal

from shared.llm.faults import Part
from shared.llm.health_store import States

SECONDS = 900.0  #: for which one refusal is remembered
_TRIES = 5
_MAX_FACTS = 200

What = Literal["window", "cap"] | Part


@dataclass(frozen=True)
class Fact:
    """One thing that one refusal taught of a model; ``until`` is in seconds since 1970."""

    model: str
    what: str  #: ``window`` or ``cap_tokens``, else a part of requests that it refused
    tokens: int | None
    until: float


class Learned:
    """The facts of one endpoint: used by this process, shown to all. Safe to use from many threads."""

    def __init__(self, states: States | None = None, key: str = "", clock: Callable[[], float] = time.time) -> None:
        self._states = states
        self._key = key
        self._clock = clock
        self._facts: dict[tuple[str, str], Fact] = {}
        self._lock = Lock()

    def count(self, model: str, what: Literal["window", "cap"]) -> int | None:
        fact = self._known(model, _NAMES[what])
        return None if fact is None else fact.tokens

    def refuses(self, model: str, part: Part) -> bool:
        return self._known(model, part) is not None

    def counted(self, model: str, what: Literal["window", "cap"], tokens: int) -> None:
        self._keep(Fact(model, _NAMES[what], tokens, self._clock() + SECONDS))

    def refused(self, model: str, part: Part) -> None:
        self._keep(Fact(model, part, None, self._clock() + SECONDS))

    def _known(self, model: str, what: str) -> Fact | None:
        if not self._facts:
            return None
        fact = self._facts.get((model, what))
        return fact if fact is not None and fact.until > self._clock() else None

    def _keep(self, fact: Fact) -> None:
        with self._lock:
            self._facts[fact.model, fact.what] = fact
        if self._states is not None:
            publish(self._states, self._key, fact, self._clock())


#: Names of learned numbers; every other name is that of a request part.
_NAMES = {"window": "window", "cap": "cap_tokens"}


def publish(states: States, key: str, fact: Fact, now: float) -> None:
    """Add the fact to those that every process can show."""
    for _ in range(_TRIES):
        (raw,) = states.read([key])
        others = [each for each in _read(raw, now) if (each.model, each.what) != (fact.model, fact.what)]
        kept = [*others, fact][-_MAX_FACTS:]
        if states.swap(key, raw, json.dumps([asdict(each) for each in kept]).encode()):
            return


def published(states: States, key: str) -> list[Fact]:
    """Return what any process has learned of an endpoint and still uses."""
    (raw,) = states.read([key])
    return sorted(_read(raw, time.time()), key=lambda fact: (fact.model, fact.what))


def _read(raw: bytes, now: float) -> Iterator[Fact]:
    """Unknown or broken data is as good as none."""
    with suppress(ValueError, TypeError, AttributeError):
        for each in json.loads(raw) if raw else ():
            fact = Fact(**each)
            if fact.until > now:
                yield fact
