"""Near misses: every question asked with its answers in the table, and again as if they had been deleted.

How well `answerable` tells one from the other is the area under its ROC curve: 1 always, 0.5 never.
``python -m benchmarks.search_near FILE.svg`` draws the curves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import search_sets
from benchmarks.roc import Curve, picture
from benchmarks.search_service import kept_model, search_service
from benchmarks.search_sets import Asked
from benchmarks.table import Line
from services.search.retrieval.answerability import DOUBTFUL, NEIGHBOURS, answerable
from services.search.retrieval.question_words import AskedWords
from services.search.store.port import NearestQuery, ScoredPoint, TablePart
from services.search.tables.library import OpenTable
from tests.services.search.service import MemorySearchService


def lines() -> list[Line]:
    return [line for curve in measured() for line in _lines(curve)]


def measured() -> list[Curve]:
    """A curve for each set of questions."""
    embedder = kept_model()
    with search_service(search_sets.TABLES, embedder) as service:
        search_sets.ingest_golden(service)
        sets = search_sets.ingest_known(service)
        curves = [_NearMisses(service, asked).curve(name) for name, asked in sets.items()]
    embedder.save()
    return curves


class _NearMisses:
    def __init__(self, service: MemorySearchService, asked: Sequence[Asked]) -> None:
        self._service = service
        self._asked = asked
        info = service.catalog.find("tenant", "c")
        self._tables = {table: service.library.open(info, table) for table in {question.table for question in asked}}

    def curve(self, name: str) -> Curve:
        pairs = [self._both(question) for question in self._asked]
        return Curve(name, [present for present, _ in pairs], [missing for _, missing in pairs])

    def _both(self, question: Asked) -> tuple[float, float]:
        """How answerable the question is with its answers, and without them."""
        table = self._tables[question.table]
        vector = self._service.library.question(table, question.text)
        assert vector is not None
        query = NearestQuery(vector, NEIGHBOURS + 1 + len(question.relevant), keys=("record",))
        [points] = self._service.store.search(table.bucket(TablePart.MASTER), [query])
        others = [point for point in points if str(point.payload["record"]) not in question.relevant]
        return self._told(table, question.text, points), self._told(table, question.text, others)

    def _told(self, table: OpenTable, text: str, points: Sequence[ScoredPoint]) -> float:
        nearest = points[: NEIGHBOURS + 1]
        share = AskedWords(self._service.store, table, text).shares([nearest[0].id])[nearest[0].id]
        return answerable(table.thresholds.master, [point.score for point in nearest], share)


def _lines(curve: Curve) -> list[Line]:
    area = curve.area
    doubted = sum(score < DOUBTFUL for score in curve.positives) / len(curve.positives)
    believed = sum(score >= DOUBTFUL for score in curve.negatives) / len(curve.negatives)
    return [
        Line(f"near misses told, AUC, {curve.name} ({len(curve.positives)})", f"{area:.3f}", "", area, "", True),
        Line("  near misses believed", f"{believed:.1%}", "", believed, "<= 40%", believed <= 0.4),
        Line("  answerable ones doubted", f"{doubted:.1%}", "", doubted, "<= 5%", doubted <= 0.05),
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(measured(), "told as answerable"))
