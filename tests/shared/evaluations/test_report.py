"""What the runs of an evaluation come to."""

from __future__ import annotations

from typing import Any

import pytest

from shared.evaluations import report


def run(case: int, variant: int, repetition: int, success: bool | None, **more: Any) -> dict[str, Any]:
    used = {"turns": 2, "tokens": 10, "cost_usd": 0.5, "seconds": 1.0, "job_id": f"j{case}{variant}{repetition}"}
    cause = None if success else "wrong_table"
    whole = {"case_number": case, "variant_number": variant, "repetition": repetition, "success": success}
    return {**whole, "cause": cause, "state": "finished", **used, **more}


CASES, VARIANTS = ["one", "two"], ["a", "b"]
SKIPPED: dict[str, Any] = {
    "state": "skipped", "cause": "budget_spent", "turns": None, "tokens": None, "cost_usd": None, "seconds": None,
    "job_id": None,
}  # fmt: skip
RUNS = [
    run(0, 0, 1, True), run(0, 0, 2, True), run(0, 1, 1, True), run(0, 1, 2, False),
    run(1, 0, 1, True), run(1, 0, 2, True), run(1, 1, 1, False, cost_usd=None), run(1, 1, 2, None, **SKIPPED),
]  # fmt: skip


def test_a_cell_counts_the_runs_that_ended_and_adds_up_what_they_took() -> None:
    first, second, third, fourth = report.cells(CASES, VARIANTS, RUNS)
    assert (first.case, first.variant, first.runs, first.successes) == ("one", "a", 2, 2)
    assert (first.turns, first.tokens, first.cost_usd, first.seconds) == (2.0, 20, 1.0, 1.0)
    assert first.jobs == ["j001", "j002"]
    assert (second.runs, second.successes, second.failures) == (2, 1, {"wrong_table": 1})
    assert third.interval == pytest.approx((0.342, 1.0), abs=1e-3)
    assert (fourth.runs, fourth.failures, fourth.cost_usd) == (1, {"wrong_table": 1, "budget_spent": 1}, None)
    assert report.unstable([first, second, third, fourth]) == ["one / b"]


def test_variants_are_compared_over_the_runs_that_both_have() -> None:
    outcomes = [report.outcomes(CASES, number, RUNS) for number in (0, 1)]
    [compared] = report.comparisons(VARIANTS, outcomes)
    assert (compared.a, compared.b, compared.cases) == ("a", "b", 2)
    assert compared.difference == pytest.approx(2 / 3)
    assert compared.p == 0.5  # both cases one way: as likely as two heads or two tails
    assert report.compare("a", "a", outcomes[0], outcomes[0]).p == 1.0
    assert report.compare("a", "b", {}, outcomes[1]).cases == 0


def test_repetitions_of_one_case_are_no_independent_proofs() -> None:
    always = {("one", repetition): True for repetition in range(20)}
    never = dict.fromkeys(always, False)
    assert report.compare("a", "b", always, never).p == 1.0
    several = {(f"case {n}", 1): True for n in range(6)}
    assert report.compare("a", "b", several, dict.fromkeys(several, False)).p == pytest.approx(2 / 64)
