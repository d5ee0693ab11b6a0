"""How likely the best record answers a question, and is not only about its topic: told without a model.

A near miss is nearly as similar to the question as an answer is. What differs a little: how far it stands out from the
records after it, and how many of the question's words it holds. The weights are a logistic regression over the tables
of ``benchmarks/golden``, each question asked with its answers in the table and without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from services.search.tables.thresholds import Threshold

#: Records after the best one that it is compared with.
NEIGHBOURS = 10
#: Below this an answer says that the records may not answer the question.
DOUBTFUL = 0.45
_SIMILARITY, _MARGIN, _WORDS, _INTERCEPT = 1.14, 1.89, 1.86, -2.71


def answerable(threshold: Threshold, cosines: Sequence[float], word_share: float) -> float:
    """0..1. ``cosines``: of the nearest records, best first; ``word_share``: of the question's words in the best."""
    best, others = cosines[0], cosines[1 : NEIGHBOURS + 1]
    similarity = threshold.way(best)
    margin = threshold.way(best) - threshold.way(sum(others) / len(others)) if others else 0.0
    return 1 / (1 + math.exp(-(_SIMILARITY * similarity + _MARGIN * margin + _WORDS * word_share + _INTERCEPT)))
