"""The loop stops when the work is done or the budget is spent, and never anywhere else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from shared.errors import ProvidersFailed
from shared.loop import Again, Budget, BudgetSpent, Done, Turn, run_loop


def test_a_good_proposal_ends_the_loop() -> None:
    seen: list[Turn[str, int]] = []
    proposals = iter(["bad", "good"])

    def execute(proposal: str) -> Done[int] | Again:
        return Done(42) if proposal == "good" else Again("no")

    assert run_loop(lambda turns: next(proposals), execute, Budget(turns=5), seen.append) == 42
    assert [turn.number for turn in seen] == [1, 2]
    assert seen[0].outcome == Again("no")


def test_the_turns_are_in_the_exception_when_the_budget_ends_first() -> None:
    seen: list[Turn[str, int]] = []
    with pytest.raises(BudgetSpent) as spent:
        run_loop(lambda turns: "x", lambda proposal: Again("no"), Budget(turns=3), seen.append)
    assert spent.value.what == "turns"
    assert len(spent.value.turns) == len(seen) == 3


def test_what_the_providers_did_is_in_the_exception_when_they_used_the_time_up() -> None:
    attempt: JsonValue = {"provider": "p", "model": "m", "outcome": "timed_out", "seconds": 2.5}
    failed = ProvidersFailed("No model provider answered.", attempts=[attempt])

    def propose(turns: Sequence[Turn[str, int]]) -> str:
        raise BudgetSpent("seconds", failed=failed)

    with pytest.raises(BudgetSpent) as spent:
        run_loop(propose, lambda proposal: Again("no"), Budget(), lambda turn: None)
    assert (spent.value.attempts, spent.value.why) == ([attempt], " Called: p (m): timed_out after 2.5 s.")
    assert (BudgetSpent("turns").attempts, BudgetSpent("turns").why) == ([], "")


def test_spent_tokens_and_seconds_stop_before_the_next_proposal() -> None:
    tokens = Budget(tokens=10)
    tokens.spend_tokens(11)
    with pytest.raises(BudgetSpent, match="tokens"):
        tokens.spend_turn()
    with pytest.raises(BudgetSpent, match="seconds"):
        Budget(seconds=-1).spend_turn()
