"""What the numbers of an evaluation mean: an interval for a share, and tests for paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from random import Random
from statistics import NormalDist

Interval = tuple[float, float]


def wilson(successes: int, runs: int, confidence: float = 0.95) -> Interval:
    """Return the score interval of a share; (0, 1) without any run.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
    """
    if runs == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, square = successes / runs, z * z / runs
    middle = (share + square / 2) / (1 + square)
    half = z / (1 + square) * sqrt(share * (1 - share) / runs + square / (4 * runs))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == runs else min(1.0, middle + half)
    return low, high


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of paired outcomes, from the pairs that only ``a`` or only ``b`` has won.

    Q. McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12 (1947),
    153-157, with the binomial distribution instead of its approximation.
    """
    discordant = only_a + only_b
    if discordant == 0:
        return 1.0
    tail: int = sum(comb(discordant, k) for k in range(min(only_a, only_b) + 1))
    every: int = 2**discordant
    return min(1.0, 2 * tail / every)


def sign_flip(differences: Sequence[int]) -> float:
    """Return the exact two-sided p of differences that are as likely to have the other sign: one per independent pair.

    Fisher's randomisation test (R. A. Fisher, "The Design of Experiments", 1935, section 21). The sums over all signs
    are counted by adding one difference after the other. With differences of -1, 0 and 1 it is McNemar's exact test.
    """
    sizes = [abs(difference) for difference in differences if difference]
    if not sizes:
        return 1.0
    ways = {0: 1}
    for size in sizes:
        after: dict[int, int] = {}
        for total, count in ways.items():
            for moved in (total - size, total + size):
                after[moved] = after.get(moved, 0) + count
        ways = after
    observed = abs(sum(differences))
    as_far = sum(count for total, count in ways.items() if abs(total) >= observed)
    every: int = 2 ** len(sizes)
    return as_far / every


def bootstrap(differences: Sequence[float], confidence: float = 0.95, resamples: int = 1000) -> Interval:
    """Return the percentile interval of the mean of differences, one per case; deterministic.

    B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979), 1-26.
    """
    if not differences:
        return 0.0, 0.0
    random, count = Random(0), len(differences)  # noqa: S311 - a sample, not a secret
    means = sorted(sum(random.choices(differences, k=count)) / count for _ in range(resamples))
    cut = (1 - confidence) / 2
    return means[int(cut * resamples)], means[min(resamples - 1, int((1 - cut) * resamples))]
