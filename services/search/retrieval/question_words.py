"""The words of a question beside a table's records: what decides near the threshold, where cosines do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from services.search.store.port import NearestQuery, Payload, Sparse, TablePart, VectorStore
from services.search.tables.library import OpenTable
from services.search.tables.thresholds import Threshold

#: A word that no record of the table holds counts as often: of 1 to 4, best on the tables of ``benchmarks/golden``.
_UNSEEN_WEIGHT = 3
_TEXT_KEYS = ("name", "text", "facets")
_Words = frozenset[int]


class AskedWords:
    """The words of one question (stop words left out), and the records of one table."""

    def __init__(self, store: VectorStore, table: OpenTable, text: str) -> None:
        self._store = store
        self._bucket = table.bucket(TablePart.MASTER)
        self._distinct = table.words(TablePart.MASTER).distinct
        self._asked = self._distinct(text)

    def shares(self, ids: Sequence[str]) -> dict[str, float]:
        """The share of the question's words that each record holds; 1 for a question without any.

        Of a record with fewer words than the question, such as a title: how many of the record's the question holds.
        """
        return {key: self._share(words) for key, words in self._held(ids).items()}

    def weak(self, threshold: Threshold, cosines: Mapping[str, float | None]) -> set[str]:
        """Records too unlike an answer: by the cosine, or by the words where it is missing or near the threshold."""
        below = {key for key, cosine in cosines.items() if cosine is not None and cosine < threshold.usual}
        uncertain = [key for key, cosine in cosines.items() if key not in below and threshold.near(cosine)]
        held = self._held(uncertain) if uncertain else {}
        unseen = self._unseen(held.values()) if any(map(self._has_room, held.values())) else 0
        missing = set(uncertain) - held.keys()
        return (
            below
            | missing
            | {key for key, words in held.items() if self._lacks(threshold, cosines[key], words, unseen)}
        )

    def _lacks(self, threshold: Threshold, cosine: float | None, words: _Words, unseen: int) -> bool:
        """Whether a record lacks too many of the question's words."""
        if cosine is None:
            return self._share(words) < 0.5
        if not self._has_room(words):
            return self._share(words) < threshold.words_needed(cosine)
        weighed = len(self._asked) + (_UNSEEN_WEIGHT - 1) * unseen
        share = len(self._asked & words) / weighed if weighed else 1.0
        return share < threshold.words_needed(cosine, roomy=True)

    def _has_room(self, words: _Words) -> bool:
        """Whether the record has as many words as the question, so that it could hold them all."""
        return len(words) >= len(self._asked)

    def _share(self, words: _Words) -> float:
        if not self._asked:
            return 1.0
        return len(self._asked & words) / max(min(len(self._asked), len(words)), 1)

    def _held(self, ids: Sequence[str]) -> dict[str, _Words]:
        payloads = self._store.payloads(self._bucket, ids, _TEXT_KEYS)
        return {key: self._distinct(full_text(payload)) for key, payload in payloads.items()}

    def _unseen(self, held: Iterable[_Words]) -> int:
        """How many of the question's words no record of the table holds."""
        elsewhere = self._asked.difference(*held)
        searches = [NearestQuery(Sparse((word,), (1.0,)), 1) for word in elsewhere]
        return sum(not points for points in self._store.search(self._bucket, searches)) if searches else 0


def full_text(payload: Payload) -> str:
    """All the text of the record of a master payload."""
    facets = payload.get("facets")
    parts = [payload.get("name"), payload.get("text"), *(facets.values() if isinstance(facets, dict) else ())]
    return "\n".join(str(part) for part in parts)
