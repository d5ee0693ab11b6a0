"""ROC curves of `answerable`: the area beside its definition, the curve from corner to corner, the picture."""

from __future__ import annotations

import random
from itertools import pairwise, product
from xml.etree import ElementTree

import pytest

from benchmarks.roc import Curve, picture


def test_the_area_is_the_chance_that_a_positive_scores_higher() -> None:
    chance = random.Random(7)
    positives = [round(chance.gauss(1, 1), 1) for _ in range(40)]  # rounded, so that some are equal
    negatives = [round(chance.gauss(0, 1), 1) for _ in range(60)]
    pairs = [(p > n) + (p == n) / 2 for p, n in product(positives, negatives)]
    curve = Curve("drawn", positives, negatives)
    assert curve.area == pytest.approx(sum(pairs) / len(pairs))
    # The trapezoids under the points are the same area.
    trapezoids = [(x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairwise(curve.points)]
    assert sum(trapezoids) == pytest.approx(curve.area)
    assert (curve.points[0], curve.points[-1]) == ((0.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize(("positives", "area"), [([2.0, 3.0], 1.0), ([0.0], 0.0), ([1.0], 0.5)])
def test_the_ends_of_the_scale(positives: list[float], area: float) -> None:
    assert Curve("", positives, [1.0]).area == area


def test_the_picture_is_xml_that_names_every_curve() -> None:
    drawn = ElementTree.fromstring(picture([Curve("a & <b>", [1.0], [0.0]), Curve("c", [0.0], [1.0])], "told"))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == ["1.00  a & <b>", "0.00  c"]
