"""How well search finds, and what it says it found, in six languages, compared with dense vectors and bm25s.

``python -m benchmarks.search_languages [MODEL...]``: ``auto`` (the default), ``minilm``, ``multilingual``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import bm25s
import numpy as np
import Stemmer

from benchmarks.golden.languages import gain
from benchmarks.golden.multilingual import LANGUAGES, MultilingualSet, load
from benchmarks.search_service import CACHE
from services.search.embed.models import EmbeddingModels
from services.search.store.edge import EdgeStore
from services.search.store.port import NearestQuery, TablePart
from shared.contracts.search import SearchResult
from tests.services.search.service import MemorySearchService

_STOP_WORDS = {"english": "en", "german": "de", "spanish": "es", "russian": "ru"}
_PIECES = re.compile("[\u3040-\u30ff\u3400-\u9fff]+|[a-z0-9]+")
_RANKS = 60


def main(models: Sequence[str]) -> None:
    for name in models or ["auto"]:
        with TemporaryDirectory(prefix="assay-bench-") as folder:
            store = EdgeStore(Path(folder))
            service = MemorySearchService(store)
            service.library.models = EmbeddingModels(name, CACHE, threads=2)
            sets = load()
            service.catalog.create("tenant", "c", {known.table: {} for known in sets})
            try:
                _measure(service, name, sets)
            finally:
                store.close()


def _measure(service: MemorySearchService, name: str, sets: Sequence[MultilingualSet]) -> None:
    for known in sets:
        service.ingest(known.table, list(known.records))
    print(f"\n| {name} | dense | bm25s | ranks | here | over the best peer | weak | missed | absent found |")
    print("|---|---|---|---|---|---|---|---|---|")
    for known in sets:
        print(_row(service, known), flush=True)
    print("\n| questions in (weak, absent found) | " + " | ".join(LANGUAGES) + " |")
    print("|---|" + "---|" * len(LANGUAGES))
    for asked in LANGUAGES:
        cells = [_across(service, sets, asked, answers) for answers in LANGUAGES]
        print(f"| {asked} | " + " | ".join(cells) + " |", flush=True)


def _row(service: MemorySearchService, known: MultilingualSet) -> str:
    results = [_search(service, known.table, text) for text, _ in known.questions]
    orders = [_ids(result, known.table) for result in results]
    rights = [right for _, right in known.questions]
    here = _mean(orders, rights)
    dense, words = list(_dense(service, known)), list(_bm25s(known))
    ranks = [_fused(one, other) for one, other in zip(dense, words, strict=True)]
    peers = [_mean(each, rights) for each in (dense, words, ranks)]
    reached = [result for result, order, right in zip(results, orders, rights, strict=True) if right in order[:10]]
    weak = sum(result.verdict != "found" for result in reached) / max(len(reached), 1)
    missed = sum(result.verdict == "not_found" for result in results) / len(results)
    absent = [_search(service, known.table, text).verdict for text in known.absent]
    share = absent.count("found") / len(absent)
    cells = [*(f"{peer:.3f}" for peer in peers), f"{here:.3f}", f"{here / max(peers):.2f}"]
    return f"| {known.half}, {known.language} | {' | '.join(cells)} | {weak:.1%} | {missed:.1%} | {share:.1%} |"


def _across(service: MemorySearchService, sets: Sequence[MultilingualSet], asked: str, answers: str) -> str:
    """Return nDCG@10, how many of the answered questions are weak, and how many of the absent ones are found."""
    gains, weak, absent = [], [], []
    for known in sets:
        if known.language == asked:
            table = next(each.table for each in sets if (each.half, each.language) == (known.half, answers))
            for text, right in known.questions:
                result = _search(service, table, text)
                gains.append(gain(_ids(result, table), right))
                weak.append(result.verdict != "found")
            absent += [_search(service, table, text).verdict == "found" for text in known.absent]
    return f"{np.mean(gains):.3f} ({np.mean(weak):.0%}, {np.mean(absent):.0%})"


def _search(service: MemorySearchService, table: str, text: str) -> SearchResult:
    return service.search(text, tables=[table], answer=False)


def _ids(result: SearchResult, table: str) -> list[str]:
    return [hit.id for hit in result.hits.get(table, [])]


def _mean(orders: Sequence[Sequence[str]], rights: Sequence[str]) -> float:
    return float(np.mean([gain(order, right) for order, right in zip(orders, rights, strict=True)]))


def _dense(service: MemorySearchService, known: MultilingualSet) -> Iterator[list[str]]:
    """Yield the order by the cosine alone, of the model that the table has."""
    table = service.library.open(service.catalog.find("tenant", "c"), known.table)
    for text, _ in known.questions:
        vector = service.library.question(table, text)
        nearest = [] if vector is None else [NearestQuery(vector, len(known.records), keys=("record",))]
        for points in service.store.search(table.bucket(TablePart.MASTER), nearest) or [[]]:
            yield [str(point.payload["record"]) for point in points]


def _bm25s(known: MultilingualSet) -> Iterator[list[str]]:
    texts = [f"{record['name']}\n{record['text']}" for record in known.records]
    tokens = [_tokens(text, known.language) for text in texts]
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    for text, _ in known.questions:
        scores = retriever.get_scores(_tokens(text, known.language))
        yield [known.records[index]["id"] for index in np.argsort(-scores, kind="stable")]


def _tokens(text: str, language: str) -> list[str]:
    """Return stems without stop words; of scripts without spaces, every two signs that follow each other."""
    if language in _STOP_WORDS:
        stemmer = Stemmer.Stemmer(language)
        known: Mapping[str, int] = bm25s.tokenize(
            text, stopwords=_STOP_WORDS[language], stemmer=stemmer, show_progress=False
        ).vocab
        return [word for word in known if word]
    runs = _PIECES.findall(text.lower())
    return [run[start : start + 2] for run in runs for start in range(max(len(run) - 1, 1))]


def _fused(one: Sequence[str], other: Sequence[str]) -> list[str]:
    scores: dict[str, float] = {}
    for order in (one, other):
        for rank, key in enumerate(order, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_RANKS + rank)
    return sorted(scores, key=lambda key: -scores[key])


if __name__ == "__main__":
    main(sys.argv[1:])
