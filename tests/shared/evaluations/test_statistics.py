"""The statistics of evaluations, held against scipy's and against published numbers."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from shared.evaluations.statistics import bootstrap, mcnemar, sign_flip, wilson


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    """Import scipy's statistics, which takes a second, only when a test needs them."""
    return import_module("scipy.stats")


@pytest.mark.parametrize("runs", [1, 2, 7, 20, 100, 3000])
def test_wilsons_interval_is_scipys(stats: ModuleType, runs: int) -> None:
    for successes in {0, 1, runs // 3, runs // 2, runs - 1, runs}:
        known = stats.binomtest(successes, runs).proportion_ci(0.95, method="wilson")
        assert wilson(successes, runs) == pytest.approx((known.low, known.high), abs=1e-12)


def test_a_share_of_nothing_may_be_anything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert bootstrap([]) == (0.0, 0.0)
    assert mcnemar(0, 0) == sign_flip([]) == sign_flip([0, 0]) == 1.0


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 1), (1, 0), (5, 5), (0, 6), (3, 12), (8, 25), (40, 61), (0, 500)])
def test_mcnemars_p_is_that_of_scipys_binomial_test(stats: ModuleType, only_a: int, only_b: int) -> None:
    known = stats.binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert mcnemar(only_a, only_b) == pytest.approx(known, rel=1e-9)
    assert sign_flip([1] * only_a + [-1] * only_b + [0] * 9) == pytest.approx(known, rel=1e-9)


def test_mcnemars_p_of_a_table_of_the_textbooks(stats: ModuleType) -> None:
    """A. Agresti, Categorical Data Analysis, table 10.1 of approval ratings: 150 against 86 changed their mind."""
    assert mcnemar(86, 150) == pytest.approx(stats.binomtest(86, 236).pvalue, rel=1e-9)
    assert mcnemar(86, 150) < 0.0001


@pytest.mark.parametrize(
    "differences", [[5, -1, 0, 3], [2, 2, 2, -4, 1], [5, 5, 5, 5, 5, -5], [1, -2, 3, -4, 5, -6, 7]]
)
def test_the_p_of_flipped_signs_is_scipys_permutation_test(stats: ModuleType, differences: list[int]) -> None:
    known = stats.permutation_test(
        (np.array(differences),), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip(differences) == pytest.approx(known.pvalue, abs=1e-12)


def test_the_bootstraps_interval_is_near_scipys_and_always_the_same(stats: ModuleType) -> None:
    differences = [0.2, 0.0, 0.4, 1.0, -0.2, 0.0, 0.6, 0.2, 0.0, 0.4] * 4
    known = stats.bootstrap(
        (differences,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1)
    )
    interval = known.confidence_interval
    assert bootstrap(differences, resamples=4000) == pytest.approx((interval.low, interval.high), abs=0.02)
    assert bootstrap(differences) == bootstrap(differences)
