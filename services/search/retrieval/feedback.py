"""Dense feedback: the order is taken once more, for a question moved a little towards its first records."""

from __future__ import annotations

from services.search.embed.port import Vectors, unit
from services.search.queries.filters import Among
from services.search.retrieval import ranking
from services.search.retrieval.retrievers import Retrieved, bounded, search_each
from services.search.store.port import Bucket, NearestQuery, VectorStore
from services.search.tables.thresholds import CosineScale

#: Measured on the tables of ``benchmarks``: a gain where questions have several answers, no loss where they have one.
_RECORDS, _SHARE = 3, 0.15


def scores(
    store: VectorStore, bucket: Bucket, asked: Vectors | None, retrieved: Retrieved, scale: CosineScale
) -> dict[str, float]:
    """Return the fused scores of the retrieved records; what the first records have in common counts too.

    Only the order changes; whether a record is weak is decided by the question as it was asked.

    Raises: SearchStoreUnavailable.
    """
    fused = ranking.fused(retrieved.cosines, retrieved.words, retrieved.ngrams, share=scale.share, zero=scale.zero)
    if asked is None or len(fused) <= _RECORDS:
        return fused
    first = store.vectors(bucket, ranking.ordered(fused, retrieved.cosines)[:_RECORDS])
    if not len(first):
        return fused
    moved = unit(asked + _SHARE * first.mean(axis=0))
    every = NearestQuery(moved, len(fused), (Among(tuple(fused)),))
    cosines = {point.id: bounded(point.score) for point in search_each(store, bucket, every)[0]}
    moved_cosines = {**retrieved.cosines, **cosines}
    return ranking.fused(moved_cosines, retrieved.words, retrieved.ngrams, share=scale.share, zero=scale.zero)
