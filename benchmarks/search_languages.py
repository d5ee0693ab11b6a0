"""How well search finds in languages that the bundled embedding model was not trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.golden.languages import LanguageSet, load
from benchmarks.search_service import kept_model, search_service
from benchmarks.table import Line
from services.search.store.port import NearestQuery, TablePart
from tests.services.search.service import MemorySearchService


def lines() -> list[Line]:
    sets, embedder = load(), kept_model()
    with search_service({language: {} for language in sets}, embedder) as service:
        out = [_line(service, language, known) for language, known in sets.items()]
    embedder.save()
    return out


def _line(service: MemorySearchService, language: str, known: LanguageSet) -> Line:
    service.ingest(language, list(known.records))
    fused = found = 0.0
    alone = {"dense": 0.0, "words": 0.0, "n-grams": 0.0}
    for text, right in known.questions:
        result = service.search(text, tables=[language], answer=False)
        fused += gain([hit.id for hit in result.hits.get(language, [])], right)
        found += result.verdict == "found"
        for retriever, ids in zip(alone, _alone(service, language, text), strict=True):
            alone[retriever] += gain(ids, right)
    many = len(known.questions)
    best = max(alone.values())
    told = ", ".join(f"{retriever} {total / many:.3f}" for retriever, total in alone.items())
    what = f"nDCG@10, {language} ({many}; {found / many:.0%} found)"
    return Line(what, f"{fused / many:.3f}", told, fused / best, ">= 0.98x", fused >= 0.98 * best)


def _alone(service: MemorySearchService, language: str, text: str) -> list[list[str]]:
    table = service.library.open(service.catalog.find("tenant", "c"), language)
    words, vector = table.words(TablePart.MASTER), service.library.question(table, text)
    assert vector is not None
    searches = [
        NearestQuery(each, 10, keys=("record",)) for each in (vector, words.query(text), words.query_ngrams(text))
    ]
    results = service.store.search(table.bucket(TablePart.MASTER), searches)
    return [[str(point.payload["record"]) for point in points] for points in results]


def gain(ids: Sequence[str], right: str) -> float:
    """nDCG of one right answer."""
    return 1 / math.log2(ids.index(right) + 2) if right in ids[:10] else 0.0
