"""The loop of proposals: a model proposes, the system executes and checks, until a proposal is good.

``transform``, ``flow`` and ``detect`` run this loop. ``search`` and ``document`` call models in their own steps; they
share ``Budget``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from shared import tracing
from shared.errors import ProvidersFailed

Proposal = TypeVar("Proposal")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Done(Generic[Result]):
    """The proposal was executed, checked, and is good."""

    result: Result


@dataclass(frozen=True)
class Again:
    """The proposal is not good yet; ``feedback`` gives the model the reason, ``outcome`` names it in one word."""

    feedback: str
    outcome: str = "again"


@dataclass(frozen=True)
class Turn(Generic[Proposal, Result]):
    number: int  #: counts from 1
    proposal: Proposal
    outcome: Done[Result] | Again
    seconds: float  #: of the proposal and its execution together


class BudgetSpent(Exception):
    """The budget ended before the work; ``turns`` holds every attempt, and a caller may take the best so far.

    ``failed`` is what the providers had done with the time, when the budget ended in a question that none answered.
    """

    def __init__(self, what: str, turns: Sequence[Turn[Any, Any]] = (), failed: ProvidersFailed | None = None) -> None:
        super().__init__(f"the budget of {what} is spent")
        self.what = what
        self.turns = tuple(turns)
        self.failed = failed

    @property
    def why(self) -> str:
        """A further sentence on the providers; empty, or with a space before it."""
        return f" {self.failed.tried}" if self.failed else ""

    @property
    def attempts(self) -> list[JsonValue]:
        """Return the providers that were called and did not answer."""
        return self.failed.attempts if self.failed else []


@dataclass
class Budget:
    """What a job may spend: model turns, seconds of wall time, model tokens; ``None`` is unlimited."""

    turns: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    turns_spent: int = 0
    tokens_spent: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> float | None:
        """When the time is over, on the monotonic clock."""
        return None if self.seconds is None else self.started + self.seconds

    @property
    def seconds_left(self) -> float:
        deadline = self.deadline
        return float("inf") if deadline is None else deadline - time.monotonic()

    def spend_turn(self) -> None:
        """Count one more turn.

        Raises: BudgetSpent, before the turn, when turns, seconds or tokens are spent.
        """
        if self.turns is not None and self.turns_spent >= self.turns:
            raise BudgetSpent("turns")
        self.check()
        self.turns_spent += 1

    def check(self) -> None:
        """Raise BudgetSpent when the seconds or tokens are spent."""
        if self.seconds_left <= 0:
            raise BudgetSpent("seconds")
        if self.tokens is not None and self.tokens_spent >= self.tokens:
            raise BudgetSpent("tokens")

    def spend_tokens(self, count: int) -> None:
        self.tokens_spent += count


def run_loop(
    propose: Callable[[Sequence[Turn[Proposal, Result]]], Proposal],
    execute: Callable[[Proposal], Done[Result] | Again],
    budget: Budget,
    on_turn: Callable[[Turn[Proposal, Result]], None],
) -> Result:
    """Propose, execute and feed back until a proposal is good.

    Raises: BudgetSpent with every turn; whatever ``propose`` and ``execute`` raise that is not the model's doing.
    """
    turns: list[Turn[Proposal, Result]] = []
    while True:
        try:
            budget.spend_turn()
            began = time.monotonic()
            with tracing.span("turn", assay__turn=len(turns) + 1) as recorded:
                proposal = propose(turns)
                outcome = execute(proposal)
                recorded.set(assay__outcome="done" if isinstance(outcome, Done) else outcome.outcome)
        except BudgetSpent as spent:
            raise BudgetSpent(spent.what, turns, spent.failed) from None
        turn = Turn(len(turns) + 1, proposal, outcome, time.monotonic() - began)
        turns.append(turn)
        on_turn(turn)
        if isinstance(outcome, Done):
            return outcome.result
