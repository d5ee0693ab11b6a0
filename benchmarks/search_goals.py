"""The goals of search on own sets, in one run: the order beside its peers, what each arm gives, and the verdicts.

Peers are the dense vectors alone, bm25s (with its English stop words and Snowball's stems), and both fused by
reciprocal ranks (k = 60). Every p is two-sided, by paired bootstrap over the questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import bm25s
import numpy as np
import Stemmer

from benchmarks import search_sets
from benchmarks.search_quality import by_ranks, gains
from benchmarks.search_service import KeptVectors, kept_model, search_service
from benchmarks.search_sets import Asked
from benchmarks.table import Line
from services.search.queries.query import Query
from services.search.retrieval import feedback, ranking
from services.search.retrieval.engine import SearchEngine
from services.search.retrieval.retrievers import RetrievalRequest, Retrieved, retrieve
from services.search.store.port import TablePart
from services.search.tables.library import OpenTable
from services.search.tables.points import record_of, weighted_text
from tests.services.search.service import MemorySearchService

_DEPTH = 50  # records of each retriever, as a search of ten takes them
_DRAWS = 10_000
PEERS = ("dense", "bm25s", "ranks")
Gains = np.ndarray[tuple[int], np.dtype[np.float64]]  #: nDCG@10 by question


def lines() -> list[Line]:
    embedder = kept_model()
    with search_service(search_sets.TABLES, embedder) as service:
        sets = _ingested(service)
        measured = _measured(service, sets)
        out = [line for name, scores in measured.items() for line in _order(name, scores)]
        out += _order("mean of all", {arm: _means(measured, arm) for arm in next(iter(measured.values()))})
        verdicts = [line for name, asked in sets.items() for line in _verdicts(service, name, asked)]
    embedder.save()
    return [*out, *verdicts]


def mean_gain(embedder: KeptVectors) -> float:
    """The mean nDCG@10 over all sets, with that embedder."""
    with search_service(search_sets.TABLES, embedder) as service:
        measured = _measured(service, _ingested(service))
    embedder.save()
    return float(_means(measured, "all").mean())


def _ingested(service: MemorySearchService) -> Mapping[str, Sequence[Asked]]:
    search_sets.ingest_golden(service)
    return {**search_sets.ingest_known(service), **search_sets.ingest_titles(service)}


def _measured(service: MemorySearchService, sets: Mapping[str, Sequence[Asked]]) -> Mapping[str, Mapping[str, Gains]]:
    return {name: _Ranked(service, asked).gains() for name, asked in sets.items()}


class _Ranked:
    """One set of questions, ranked by every arm."""

    def __init__(self, service: MemorySearchService, asked: Sequence[Asked]) -> None:
        self._service = service
        self._asked = asked
        info = service.catalog.find("tenant", "c")
        self._tables = {table: service.library.open(info, table) for table in {question.table for question in asked}}
        self._indexes = {name: _Bm25s(service, table) for name, table in self._tables.items()}

    def gains(self) -> Mapping[str, Gains]:
        runs: dict[str, dict[str, Sequence[str]]] = {}
        for question in self._asked:
            for arm, ids in self._orders(question).items():
                runs.setdefault(arm, {})[question.id] = ids
        each = {arm: gains(self._asked, run) for arm, run in runs.items()}
        return {
            arm: np.array([scores.get(question.id, 0.0) for question in self._asked]) for arm, scores in each.items()
        }

    def _orders(self, question: Asked) -> Mapping[str, Sequence[str]]:
        table, store = self._tables[question.table], self._service.store
        vector, bucket = self._service.library.question(table, question.text), table.bucket(TablePart.MASTER)
        words = table.words(TablePart.MASTER)
        request = RetrievalRequest(question.text, vector, words, _DEPTH, (), None, ("record",))
        every = retrieve(store, bucket, request)

        def ordered(retrieved: Retrieved, scored: Callable[[Retrieved], Mapping[str, float]]) -> list[str]:
            best = ranking.ordered(scored(retrieved), retrieved.cosines)
            return [str(retrieved.points[key].payload["record"]) for key in best]

        def fed(retrieved: Retrieved) -> Mapping[str, float]:
            return feedback.scores(store, bucket, vector, retrieved)

        def plain(retrieved: Retrieved) -> Mapping[str, float]:
            return ranking.fused(retrieved.cosines, retrieved.words, retrieved.ngrams)

        dense = ordered(every, lambda retrieved: retrieved.cosines)[:_DEPTH]
        worded = self._indexes[question.table].ranked(question.text)
        return {
            "dense": dense,
            "bm25s": worded,
            "ranks": by_ranks(dense, worded),
            "all": ordered(every, fed),
            "without dense": ordered(replace(every, cosines=dict.fromkeys(every.cosines, 0.0)), plain),
            "without words": ordered(replace(every, words={}), fed),
            "without n-grams": ordered(replace(every, ngrams={}), fed),
            "without feedback": ordered(every, plain),
        }


class _Bm25s:
    def __init__(self, service: MemorySearchService, table: OpenTable) -> None:
        pages = service.store.every_payload(table.bucket(TablePart.MASTER))
        records = [record_of(payload) for page in pages for payload in page]
        self._ids = [record.id for record in records]
        self._stemmer = Stemmer.Stemmer("english")
        self._index = bm25s.BM25(k1=1.5, b=0.75)
        self._index.index(self._tokens([weighted_text(record) for record in records]), show_progress=False)

    def ranked(self, text: str) -> list[str]:
        depth = min(_DEPTH, len(self._ids))
        numbers, scores = self._index.retrieve(self._tokens([text]), k=depth, show_progress=False)
        return [self._ids[number] for number, score in zip(numbers[0], scores[0], strict=True) if score > 0]

    def _tokens(self, texts: Sequence[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)


def _means(measured: Mapping[str, Mapping[str, Gains]], arm: str) -> Gains:
    return np.array([scores[arm].mean() for scores in measured.values()])


def _order(name: str, scores: Mapping[str, Gains]) -> list[Line]:
    best = max(PEERS, key=lambda peer: float(scores[peer].mean()))
    ours, theirs = scores["all"], scores[best]
    ratio = float(ours.mean() / theirs.mean())
    told = ", ".join(f"{peer} {scores[peer].mean():.3f}" for peer in PEERS)
    what = f"nDCG@10, {name} ({len(ours)}), p {_p(ours, theirs):.3f}"
    out = [Line(what, f"{ours.mean():.3f}", told, ratio, ">= 1.06x", ratio >= 1.06)]
    for arm in [arm for arm in scores if arm.startswith("without")]:
        less = scores[arm]
        what = f"  {arm}, p {_p(ours, less):.3f}"
        out.append(Line(what, f"{less.mean():.3f}", "", float(less.mean() / ours.mean()), "", True))
    return out


def _p(ours: Gains, theirs: Gains) -> float:
    """The chance that the mean difference has the other sign, doubled."""
    difference = ours - theirs
    drawn = np.random.default_rng(7).integers(0, len(difference), (_DRAWS, len(difference)))
    means = difference[drawn].mean(axis=1)
    return float(min(1.0, 2 * min((means <= 0).mean(), (means >= 0).mean())))


def _verdicts(service: MemorySearchService, name: str, asked: Sequence[Asked]) -> list[Line]:
    """After every retry: of questions whose answer is among the first ten, and of absent ones."""
    info = service.catalog.find("tenant", "c")
    tables = {table: service.library.open(info, table) for table in {question.table for question in asked}}
    engine = SearchEngine(service.library, tables, {})
    found = weak = missed = 0
    for question in asked:
        every = engine.run(Query(question.table, "master", question.text, 10, 0.0, (), cut=True))
        if not question.relevant & {match.id for match in every}:
            continue
        found += 1
        matches = engine.run(Query(question.table, "master", question.text, 10, None, ()))
        if all(match.weak for match in matches):
            verdict = service.search(question.text, tables=[question.table], answer=False).verdict
            weak += verdict == "weak"
            missed += verdict == "not_found"
    texts = search_sets.absent()
    results = [service.search(text, tables=sorted(tables), answer=False) for text in texts]
    # Without a model an unanswered question is asked of every other table too; those count in their own line.
    false = sum(any(not hit.weak for table in tables for hit in result.hits.get(table, [])) for result in results)
    return [
        _most(f"answerable, called weak, {name} ({found})", weak / found, 0.05),
        _most("  answerable, missed", missed / found, 0.01),
        _most(f"  absent, found ({len(texts)})", false / len(texts), 0.02),
    ]


def _most(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f"<= {target:.0%}", value <= target)
