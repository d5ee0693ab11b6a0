"""The words of a question compared with a table's records: they decide near the threshold, where cosines do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from services.search.store.port import NearestQuery, Payload, Sparse, TablePart, VectorStore
from services.search.tables.library import OpenTable
from services.search.tables.likeness import misspelling_held, part_held
from services.search.tables.thresholds import Threshold
from services.search.tables.words import AskedWord, HeldWords

#: A word that no record of the table holds counts as often, in tables of English: of 1 to 4, best on the tables of
#: ``benchmarks/golden``. Of other languages the model knows less, and stems and compounds make more words unseen.
_UNSEEN_WEIGHT = {"english": 3}
_MISSPELT_RECORDS, _MISSPELT_SHARE = 3, 0.75
_TEXT_KEYS = ("name", "text", "facets")


class AskedWords:
    """The words of one question (stop words left out), and the records of one table."""

    def __init__(self, store: VectorStore, table: OpenTable, text: str) -> None:
        self._store = store
        self._bucket = table.bucket(TablePart.MASTER)
        self._words = table.words(TablePart.MASTER)
        self._asked = self._words.asked(text)
        self._unseen_weight = _UNSEEN_WEIGHT.get(self._words.language, 1)

    def shares(self, ids: Sequence[str]) -> dict[str, float]:
        """Return the share of the question's words that each record holds; 1 for a question without any.

        Of a record with fewer words than the question, such as a title: how many of the record's the question holds.
        """
        return {key: self._share(held) for key, held in self._held(ids).items()}

    def weak(self, threshold: Threshold, cosines: Mapping[str, float | None]) -> set[str]:
        """Return records too unlike an answer: by the cosine, or by the words where it is missing or near the
        threshold.
        """
        below = {key for key, cosine in cosines.items() if cosine is not None and cosine < threshold.usual}
        uncertain = [key for key, cosine in cosines.items() if key not in below and threshold.near(cosine)]
        held = self._held(uncertain) if uncertain else {}
        weak = below | (set(uncertain) - held.keys()) | self._lacking(threshold, cosines, held)
        return weak if len(weak) < len(cosines) else weak - self._misspelt([key for key in cosines if key in below])

    def weak_texts(
        self,
        threshold: Threshold,
        cosines: Mapping[str, float | None],
        texts: Mapping[str, str],
        needed: Mapping[str, float],
    ) -> set[str]:
        """Return sentences too unlike an answer. One of many is near any question, so that a share of the words is
        ``needed`` however similar it is, unless the question is in another language.
        """
        below = {key for key, cosine in cosines.items() if cosine is not None and cosine < threshold.usual}
        if not threshold.near(threshold.usual):
            return below
        held = {key: self._words.held(texts[key]) for key in cosines if key not in below}
        return below | self._lacking(threshold, cosines, held, needed)

    def _lacking(
        self,
        threshold: Threshold,
        cosines: Mapping[str, float | None],
        held: Mapping[str, HeldWords],
        needed: Mapping[str, float] | None = None,
    ) -> set[str]:
        """Return those that hold too few of the question's words."""
        unseen = self._unseen(held.values()) if held else frozenset()
        least = needed or {}
        return {
            key
            for key, words in held.items()
            if self._lacks(threshold, cosines[key], words, unseen, least.get(key, 0.0))
        }

    def _misspelt(self, below: Sequence[str]) -> set[str]:
        """Return the first records that hold nearly all of a misspelt question, whose cosine says little."""
        held = self._held(below[:_MISSPELT_RECORDS]) if below and self._asked else {}
        unseen = self._unseen(held.values()) if held else frozenset()
        return {
            key
            for key, words in held.items()
            if any(misspelling_held(word.text, words.spelled) for word in unseen)
            and sum(self._found(word, words, unseen) for word in self._asked) >= _MISSPELT_SHARE * len(self._asked)
        }

    def _lacks(
        self,
        threshold: Threshold,
        cosine: float | None,
        held: HeldWords,
        unseen: frozenset[AskedWord],
        least: float,
    ) -> bool:
        """Return whether a record lacks too many of the question's words."""
        has_room = self._has_room(held)
        needed = 0.5 if cosine is None else max(threshold.words_needed(cosine, roomy=has_room), least)
        if not has_room or cosine is None:
            return self._share(held, unseen) < needed
        held_words = {word: self._found(word, held, unseen) for word in self._asked}
        weights = {word: self._unseen_weight if word in unseen and not held_words[word] else 1 for word in self._asked}
        total = sum(weights.values())
        return (sum(held_words.values()) / total if total else 1.0) < needed

    def _has_room(self, held: HeldWords) -> bool:
        """Return whether the record has as many words as the question, so that it could hold them all."""
        return len(held.stems) >= len(self._asked)

    def _share(self, held: HeldWords, unseen: frozenset[AskedWord] = frozenset()) -> float:
        if not self._asked:
            return 1.0
        matched = sum(self._found(word, held, unseen) for word in self._asked)
        return min(matched / max(min(len(self._asked), len(held.stems)), 1), 1.0)

    def _found(self, word: AskedWord, held: HeldWords, unseen: frozenset[AskedWord]) -> float:
        """Return how far the record holds the word, 0..1. A word that no record holds may be misspelt."""
        if word.stems <= held.stems:
            return 1.0
        part = part_held(word.ngrams, held.ngrams)
        return max(part, misspelling_held(word.text, held.spelled)) if word in unseen and word.ngrams else part

    def _held(self, ids: Sequence[str]) -> dict[str, HeldWords]:
        payloads = self._store.payloads(self._bucket, ids, _TEXT_KEYS)
        return {key: self._words.held(full_text(payload)) for key, payload in payloads.items()}

    def _unseen(self, held: Iterable[HeldWords]) -> frozenset[AskedWord]:
        """Return the question's words that no record of the table holds."""
        stems = frozenset[int]().union(*(each.stems for each in held))
        elsewhere = [word for word in self._asked if not word.stems <= stems]
        searches = [NearestQuery(Sparse(tuple(word.stems), (1.0,) * len(word.stems)), 1) for word in elsewhere]
        results = self._store.search(self._bucket, searches) if searches else []
        return frozenset(word for word, points in zip(elsewhere, results, strict=True) if not points)


def full_text(payload: Payload) -> str:
    """Return all the text of the record of a master payload."""
    facets = payload.get("facets")
    parts = [payload.get("name"), payload.get("text"), *(facets.values() if isinstance(facets, dict) else ())]
    return "\n".join(str(part) for part in parts)
