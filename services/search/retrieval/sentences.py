"""The sentence that answers, in passages whose vectors hardly show it: one of fifteen moves a vector little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.search.embed.port import Embedder, Vectors
from services.search.retrieval.question_words import AskedWords
from services.search.store.port import Payload
from services.search.tables.passages import sentences
from services.search.tables.thresholds import Threshold
from services.search.tables.words import Words

#: Points whose sentences are compared with the question by words, and the sentences that are embedded.
MAX_PASSAGES, _MAX_EMBEDDED = 40, 16
#: Characters of a sentence that is compared: a shorter one says nothing by itself, a longer one is not one.
_SHORTEST, _LONGEST = 12, 1000
KEYS = ("name", "text", "facets")
#: Of the question's words, the least that a sentence holds which answers by itself: of a point with so many sentences
#: that its vector hardly shows each of them, and of another one. With the first for all, 98 of the 106 questions of
#: ``benchmarks/golden`` that the first query does not answer are answered, with both 102.
_MANY, _OF_MANY, _OF_FEW = 8, 0.3, 0.7


@dataclass(frozen=True)
class _Sentence:
    point: str
    name: str  #: of its record
    text: str
    shared: int  #: words of the question
    needed: float  #: share of the question's words from which it answers


def answering(
    payloads: Mapping[str, Payload],
    question: str,
    vector: Vectors,
    embedder: Embedder,
    words: Words,
    asked: AskedWords,
    threshold: Threshold,
) -> dict[str, float]:
    """Return the points that have a sentence which passes the threshold by itself, with its cosine; best first.

    ``payloads``: of the points, best first. Raises: EmbeddingUnavailable, SearchStoreUnavailable.
    """
    candidates = _candidates(payloads, words, words.distinct(question))
    if not candidates:
        return {}
    by_key = {str(number): sentence for number, sentence in enumerate(candidates)}
    cosines = dict(
        zip(by_key, map(float, embedder.documents([each.text for each in candidates]) @ vector), strict=True)
    )
    texts = {key: f"{each.name}\n{each.text}" for key, each in by_key.items()}
    weak = asked.weak_texts(threshold, cosines, texts, {key: each.needed for key, each in by_key.items()})
    best: dict[str, float] = {}
    for key in sorted(cosines.keys() - weak, key=lambda key: -cosines[key]):
        best.setdefault(by_key[key].point, cosines[key])
    return best


def nearest(
    payloads: Mapping[str, Payload], question: str, vector: Vectors, embedder: Embedder, words: Words
) -> float | None:
    """Return the cosine of the sentence that is most like the question; None without any. Raises:
    EmbeddingUnavailable.
    """
    candidates = _candidates(payloads, words, words.distinct(question))
    return float(max(embedder.documents([each.text for each in candidates]) @ vector)) if candidates else None


def _candidates(payloads: Mapping[str, Payload], words: Words, asked: frozenset[int]) -> Sequence[_Sentence]:
    """Return the sentences with most words of the question; those of equally many in the order of their points."""
    every = [
        _Sentence(point, str(payload.get("name", "")), text, len(asked & words.distinct(text)), needed)
        for point, payload in payloads.items()
        for text, needed in _sentences(payload)
    ]
    return sorted(every, key=lambda sentence: -sentence.shared)[:_MAX_EMBEDDED]


def _sentences(payload: Payload) -> Iterator[tuple[str, float]]:
    """Yield the sentences of a point's texts, where there are several, and the share of words that each needs."""
    facets = payload.get("facets")
    texts = [str(payload.get("text", "")), *(map(str, facets.values()) if isinstance(facets, dict) else ())]
    parts = [text[start:end] for text in texts for start, end in sentences(text)]
    needed = _OF_FEW if len(parts) < _MANY else _OF_MANY
    if len(parts) > 1:
        yield from ((part, needed) for part in parts if _SHORTEST <= len(part) <= _LONGEST)
