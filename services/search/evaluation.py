"""How far a result can be trusted, by evidence alone: no model judges its own answer."""

from __future__ import annotations

from collections.abc import Callable

from services.search.answering import Answered, Hits
from services.search.thresholds import Mark
from shared.contracts.search import Evaluation, Hit

#: The usual threshold lies a quarter of the way from unrelated to known; the whole way is a sure answer.
_WAY = 4.0
_CITED_BY_NONE = 0.5  # an answer that names no record can be checked against nothing
MarkOf = Callable[[str], Mark | None]


def evaluate(hits: Hits, answered: Answered | None, mark_of: MarkOf) -> Evaluation:
    """``mark_of``: the thresholds of a table; None where only keywords are searched."""
    every = [(table, hit) for table, found in hits.items() for hit in found]
    sure = [_sure(hit, mark) for table, hit in every if (mark := mark_of(table)) is not None]
    confidence = max((value for value in sure if value is not None), default=None)
    if not every:
        confidence = 0.0
    return Evaluation(quality=None if answered is None else _quality(hits, answered), confidence=confidence)


def _sure(hit: Hit, mark: Mark) -> float | None:
    """0 for what is like an unrelated record, 1 for what is as near as answers that are known."""
    if hit.similarity is None:
        return None
    way = max((mark.usual - mark.floor) * _WAY, 1e-6)
    return round(min(max((hit.similarity - mark.floor) / way, 0.0), 1.0), 3)


def _quality(hits: Hits, answered: Answered) -> float:
    """The share of what the answer cites that was found and is strong."""
    strong = {(table, hit.id) for table, found in hits.items() for hit in found if not hit.weak}
    said = len(answered.citations) + answered.dropped
    if not said:
        return _CITED_BY_NONE if hits else 1.0  # an honest no is as good as an answer can be
    return round(sum((cited.table, cited.id) in strong for cited in answered.citations) / said, 3)
