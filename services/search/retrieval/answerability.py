"""How likely the best record answers a question, and is not only about its topic, without a model.

A near miss is nearly as similar to the question as an answer is. What differs a little: how far it stands out from the
records after it, and how many of the question's words it holds. The weights are a logistic regression over the tables
of ``benchmarks/golden``, each question asked with its answers in the table and without them. Three facts lower it:
nothing of the kind that is asked for (a price, a weight), a name that no record holds, and other words that none holds.
Their weights were chosen on ``benchmarks/golden/near_misses.jsonl``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence

from services.search.retrieval.answer_types import lacks_answer
from services.search.store.port import NearestQuery, Sparse, TablePart, VectorStore
from services.search.tables.library import OpenTable
from services.search.tables.thresholds import Threshold

#: Records after the best one that it is compared with.
NEIGHBOURS = 10
#: Below this an answer warns that the records may not answer the question.
DOUBTFUL = 0.45
#: Below this the verdict is weak if an answer is requested and no model gives one.
UNLIKELY = 0.18
_LACKS_KIND, _UNKNOWN_NAME, _UNKNOWN_WORDS = 4.0, 2.0, 2.0
_MAX_UNKNOWN = 0.67  #: of the words; with more, the question is worded or written in another way than the records
_MIN_SHARE_OF_CAPITALS = 0.6  #: of the words, above which capitals do not mean names
_LETTER = re.compile(r"[^\W\d_]")
_SIMILARITY, _MARGIN, _WORDS, _INTERCEPT = 1.14, 1.89, 1.86, -2.71


def answerable(threshold: Threshold, cosines: Sequence[float], word_share: float, doubts: float = 0.0) -> float:
    """0..1. ``cosines``: of the nearest records, best first; ``word_share``: of the question's words in the best."""
    best, others = cosines[0], cosines[1 : NEIGHBOURS + 1]
    by_words = threshold.unrelated is not None  # they have decided already, and cosines say little
    similarity = 1.0 if by_words else threshold.way(best)
    margin = threshold.way(best) - threshold.way(sum(others) / len(others)) if others else 0.0
    return 1 / (
        1 + math.exp(-(_SIMILARITY * similarity + _MARGIN * margin + _WORDS * word_share + _INTERCEPT - doubts))
    )


def doubts(store: VectorStore, table: OpenTable, question: str, texts: Sequence[str]) -> float:
    """Return what speaks against an answer in the texts of the best hits, as log odds; 0 where they share no word with
    it.

    Raises: SearchStoreUnavailable.
    """
    distinct = table.words(TablePart.MASTER).distinct
    asked = distinct(question)
    held = asked & distinct("\n".join(texts))
    if not held:
        return 0.0
    lacking = _LACKS_KIND if lacks_answer(question, "\n".join(texts)) else 0.0
    unknown = _unknown(store, table, asked - held)
    share = len(unknown) / len(asked)
    if share > _MAX_UNKNOWN:
        return lacking
    names = (
        _UNKNOWN_NAME if any(words and words <= unknown for words in map(distinct, _names(question, table))) else 0.0
    )
    return lacking + names + _UNKNOWN_WORDS * share


def _unknown(store: VectorStore, table: OpenTable, words: Collection[int]) -> set[int]:
    """Return the words that no record of the table holds."""
    ordered = sorted(words)
    searches = [NearestQuery(Sparse((word,), (1.0,)), 1) for word in ordered]
    results = store.search(table.bucket(TablePart.MASTER), searches) if searches else []
    return {word for word, points in zip(ordered, results, strict=True) if not points}


def _names(question: str, table: OpenTable) -> Iterator[str]:
    """Yield capitalized words where only names have capitals: not first words, German nouns or headlines."""
    words = re.findall(r"[^\W_][\w'+#-]*", question)
    layout = table.layouts.get(TablePart.MASTER)
    capitals = [word for word in words if word[0].isupper()]
    if (layout is not None and layout.language == "german") or len(capitals) > _MIN_SHARE_OF_CAPITALS * len(words):
        return
    yield from (word for word in words[1:] if word[0].isupper() and len(_LETTER.findall(word)) > 1)
