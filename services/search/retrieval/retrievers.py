"""The retrievers: dense vectors, words and n-grams of words. Each one scores what any of them found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from services.search.embed.port import Vectors
from services.search.queries.filters import Among, Conditions
from services.search.retrieval import ranking
from services.search.store.port import Bucket, NearestQuery, ScoredPoint, Sparse, TablePart, VectorStore
from services.search.tables.words import Words

_SATURATION = 4.0  # of a keyword score, which has no upper bound
_NEAREST = 11  #: records: the best one, and those that it is compared with
_NOTHING = Sparse((), ())


@dataclass(frozen=True)
class RetrievalRequest:
    """A text to retrieve points for, in the forms that the retrievers compare."""

    text: str
    vector: Vectors | None  #: None: keywords only
    words: Words
    limit: int  #: points of each retriever
    conditions: Conditions
    threshold: float | None  #: least cosine; None: none
    keys: tuple[str, ...] = ()  #: of the payload to return


@dataclass(frozen=True)
class Retrieved:
    """The points that were found, and their score by each retriever."""

    points: Mapping[str, ScoredPoint]
    cosines: Mapping[str, float]  #: of every point; empty where only keywords are searched
    words: Mapping[str, float]  #: of points that share a word with the text
    ngrams: Mapping[str, float]  #: of points that share an n-gram with the text; of whole records only
    keyword_only: bool
    nearest: Sequence[tuple[str, float]] = ()  #: the first points of the nearest records, before any were dropped

    @property
    def saturated(self) -> dict[str, float]:
        """Keyword scores, which have no upper bound, as 0..1."""
        return {point_id: score / (score + _SATURATION) for point_id, score in self.words.items()}

    def related(self, least: float) -> Retrieved:
        """Drop the points that are less similar than ``least`` and share no word with the text."""
        if self.keyword_only:
            return self
        kept = {key for key, cosine in self.cosines.items() if cosine >= least or key in self.words}
        closest = ranking.best_of_each(sorted(self.cosines, key=lambda key: -self.cosines[key]))[:_NEAREST]
        return replace(
            self,
            nearest=[(key, self.cosines[key]) for key in closest],
            points={key: point for key, point in self.points.items() if key in kept},
            cosines={key: cosine for key, cosine in self.cosines.items() if key in kept},
        )

    @property
    def scored(self) -> list[tuple[ScoredPoint, float]]:
        """Every point with its cosine, or with its keyword score where there are no vectors."""
        scores = self.saturated if self.keyword_only else self.cosines
        return [(point, scores[point_id]) for point_id, point in self.points.items()]


def retrieve(store: VectorStore, bucket: Bucket, request: RetrievalRequest) -> Retrieved:
    """Retrieve points by vector and by words. Raises: SearchStoreUnavailable."""
    words = request.words.query(request.text)
    by_words = NearestQuery(words, request.limit, request.conditions, keys=request.keys) if words.indices else None
    if request.vector is None:
        [worded] = search_each(store, bucket, by_words)
        return Retrieved({point.id: point for point in worded}, {}, scores_of(worded), {}, keyword_only=True)
    by_vector = NearestQuery(request.vector, request.limit, request.conditions, request.threshold, request.keys)
    near, worded = search_each(store, bucket, by_vector, by_words)
    near_ids, worded_ids = {point.id for point in near}, {point.id for point in worded}
    ngrams = request.words.query_ngrams(request.text) if bucket.part is TablePart.MASTER else _NOTHING
    # Each retriever also scores what only another one found. Points below a threshold are left out of all.
    only_worded, only_near = worded_ids - near_ids, near_ids - worded_ids if worded_ids else set()
    every = near_ids | worded_ids if ngrams.indices else set()
    also_near, also_worded, by_ngrams = search_each(
        store,
        bucket,
        _among(request.vector, only_worded, request.threshold, request.keys),
        _among(words, only_near),
        _among(ngrams, every),
    )
    points = {point.id: point for point in (*near, *also_near)}
    cosines = {point_id: bounded(point.score) for point_id, point in points.items()}
    word_scores = {key: score for key, score in scores_of((*worded, *also_worded)).items() if key in points}
    return Retrieved(points, cosines, word_scores, scores_of(by_ngrams), keyword_only=False)


def search_each(store: VectorStore, bucket: Bucket, *queries: NearestQuery | None) -> list[list[ScoredPoint]]:
    """Return the result of each query, all sent in one request; an empty list for None."""
    present = [query for query in queries if query]
    results = iter(store.search(bucket, present) if present else [])
    return [next(results) if query else [] for query in queries]


def scores_of(points: Iterable[ScoredPoint]) -> dict[str, float]:
    return {point.id: point.score for point in points}


def bounded(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)


def _among(
    vector: Vectors | Sparse, ids: set[str], threshold: float | None = None, keys: tuple[str, ...] = ()
) -> NearestQuery | None:
    """Scores for just these points; None for no points."""
    return NearestQuery(vector, len(ids), (Among(tuple(ids)),), threshold, keys) if ids else None
