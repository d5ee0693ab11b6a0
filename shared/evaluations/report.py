"""What the runs of an evaluation come to: cells, totals, and paired comparisons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from sqlalchemy import RowMapping

from shared.contracts.evaluations import Cell, Comparison, Total
from shared.evaluations.statistics import bootstrap, mcnemar, sign_flip, wilson

Row = Mapping[str, Any] | RowMapping
#: With more variants the differences have no intervals: each takes milliseconds.
_MAX_WITH_INTERVALS = 12
#: Successes by case and repetition, of one variant.
Outcomes = Mapping[tuple[str, int], bool]


def cells(cases: Sequence[str], variants: Sequence[str], runs: Sequence[Row]) -> list[Cell]:
    """Return every case with every variant, cases first."""
    by_cell: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
    for run in runs:
        by_cell[run["case_number"], run["variant_number"]].append(run)
    return [_cell(case, variant, by_cell[i, j]) for i, case in enumerate(cases) for j, variant in enumerate(variants)]


def _cell(case: str, variant: str, runs: Sequence[Row]) -> Cell:
    total = _total(variant, runs)
    jobs = [str(run["job_id"]) for run in runs if run["job_id"]]
    return Cell(case=case, jobs=jobs, **total.model_dump())


def totals(variants: Sequence[str], runs: Sequence[Row]) -> list[Total]:
    return [
        _total(variant, [run for run in runs if run["variant_number"] == number])
        for number, variant in enumerate(variants)
    ]


def _total(variant: str, runs: Sequence[Row]) -> Total:
    """Return a variant's totals; runs that never started are not counted, but listed among the failures."""
    ended = [run for run in runs if run["state"] == "finished"]
    successes = sum(bool(run["success"]) for run in ended)
    costs = [run["cost_usd"] for run in ended]
    return Total(
        variant=variant,
        runs=len(ended),
        successes=successes,
        interval=wilson(successes, len(ended)),
        turns=_mean([run["turns"] for run in ended]),
        tokens=sum(run["tokens"] or 0 for run in ended),
        cost_usd=None if not costs or None in costs else round(sum(costs), 9),
        seconds=_mean([run["seconds"] for run in ended]),
        failures=dict(Counter(str(run["cause"]) for run in runs if run["cause"]).most_common()),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 6) if known else None


def unstable(cells: Sequence[Cell]) -> list[str]:
    """Cases that a variant sometimes solves and sometimes not."""
    return [f"{cell.case} / {cell.variant}" for cell in cells if 0 < cell.successes < cell.runs]


def outcomes(cases: Sequence[str], variant_number: int, runs: Sequence[Row]) -> Outcomes:
    return {
        (cases[run["case_number"]], run["repetition"]): bool(run["success"])
        for run in runs
        if run["variant_number"] == variant_number and run["state"] == "finished"
    }


def comparisons(variants: Sequence[str], by_variant: Sequence[Outcomes]) -> list[Comparison]:
    """Compare each pair of variants."""
    intervals = len(variants) <= _MAX_WITH_INTERVALS
    return [
        compare(variants[a], variants[b], by_variant[a], by_variant[b], interval=intervals)
        for a, b in combinations(range(len(variants)), 2)
    ]


def compare(a: str, b: str, of_a: Outcomes, of_b: Outcomes, *, interval: bool = True) -> Comparison:
    """Compare two variants, paired by case and repetition.

    With one run of each case the p is McNemar's. Repetitions of a case are not independent pairs, so with several the
    p is that of the sign of each case's difference: otherwise five repetitions would count as five proofs of one case.
    """
    pairs = sorted(of_a.keys() & of_b.keys())
    by_case: defaultdict[str, list[int]] = defaultdict(list)
    for case, repetition in pairs:
        by_case[case].append(int(of_a[case, repetition]) - int(of_b[case, repetition]))
    wins, losses = (sum(d == sign for each in by_case.values() for d in each) for sign in (1, -1))
    repeated = any(len(each) > 1 for each in by_case.values())
    p = sign_flip([sum(each) for each in by_case.values()]) if repeated else mcnemar(wins, losses)
    return Comparison(
        a=a,
        b=b,
        difference=(wins - losses) / len(pairs) if pairs else 0.0,
        p=p,
        interval=bootstrap([sum(each) / len(each) for each in by_case.values()]) if interval else None,
        cases=len(by_case),
    )
