"""Text as weighted words: BM25's half of the search, the same for every store."""

from __future__ import annotations

from qdrant_edge import Bm25, Bm25Config

from services.search.store.port import Sparse

_SATURATION, _LENGTH = 1.5, 0.75  # measured best on abstracts
_MOST_CHARACTERS = 20_000


class Words:
    """Weighs the words of documents whose average length is known."""

    def __init__(self, average: float) -> None:
        config = Bm25Config(k=_SATURATION, b=_LENGTH, avg_len=max(average, 1.0), language="english", ascii_folding=True)
        self._model = Bm25(config)

    def document(self, text: str) -> Sparse:
        found = self._model.embed_document(text[:_MOST_CHARACTERS])
        return Sparse(tuple(found.indices), tuple(found.values))

    def query(self, text: str) -> Sparse:
        found = self._model.embed_query(text[:_MOST_CHARACTERS])
        return Sparse(tuple(found.indices), tuple(found.values))


_plain = Words(1.0)


def count(text: str) -> int:
    """How many different words count (stop words do not)."""
    return len(_plain.query(text).indices)


def distinct(text: str) -> frozenset[int]:
    """The words that count, as hashes of their stems."""
    return frozenset(_plain.query(text).indices)
