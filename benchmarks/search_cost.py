"""What it costs: a step against the raw store, a question embedded, records ingested, a worker started.

Wall times, so the machine has to be quiet; the start of the model is processor time.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from tempfile import TemporaryDirectory

import bm25s
import numpy as np
import Stemmer

from benchmarks.golden import corpus
from benchmarks.search_service import model, search_service
from benchmarks.table import Line
from services.search.embed.port import Embedder, Vectors
from services.search.store.port import NearestQuery, TablePart
from services.search.tables.points import point_id
from tests.services.search.service import MemorySearchService

RECORDS = 10_000
COMPARED_RECORDS = 20_000
QUESTIONS = 200
_STEMMER = Stemmer.Stemmer("english")
_SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdgklm" for vowel in "aiu"]
_WORDS = np.array(["".join(syllables) for syllables in itertools.product(_SYLLABLES, repeat=3)][:5000])
_COLD = """
import sys, time
from pathlib import Path
from services.search.embed.models import EmbeddingModels
from services.search.store.open import open_store
import services.search.worker
store = open_store(None, Path(sys.argv[1]) / "search")
embedder = EmbeddingModels("minilm", Path(sys.argv[1]) / "cache").named(None)
embedder.query("the first question")
"""


class Random:
    """Vectors out of nowhere, as fast as possible: everything except the embedding is measured."""

    fingerprint = "random/384"

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)

    def documents(self, texts: object) -> Vectors:
        vectors = self._random.standard_normal((len(texts), 384), dtype=np.float32)  # type: ignore[arg-type]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return np.asarray(self.documents([text])[0], dtype=np.float32)


def lines() -> list[Line]:
    tables = {"talks": {"facets": {"topic": 1.5, "audience": 1.0}, "fields": {"track": "keyword", "seats": "integer"}}}
    embedder: Embedder = Random()
    with search_service(tables, embedder) as made:
        records = _records(RECORDS)
        began, worked = time.perf_counter(), time.process_time()
        made.ingest("talks", records)
        ingested, busy = time.perf_counter() - began, time.process_time() - worked
        steps = _steps(made)
    bulk = _seconds("ingest of 10,000 records, 3 points each, no embedding", ingested, 15.0, f"{busy:.2f} s CPU")
    return [*steps, bulk, _compared(), *_embedding()]


def _compared() -> Line:
    """A query of 20,000 records, compared with the same vectors and bm25s, added by reciprocal ranks."""
    records = [{key: record[key] for key in ("id", "name", "text")} for record in _records(COMPARED_RECORDS)]
    with search_service({"talks": {}}, Random()) as made:
        made.ingest("talks", records)
        bucket = made.library.open(made.catalog.find("tenant", "c"), "talks").bucket(TablePart.MASTER)
        index = bm25s.BM25(k1=1.5, b=0.75)
        index.index(_tokens([f"{record['name']} {record['text']}" for record in records]), show_progress=False)
        random = np.random.default_rng(5)
        questions = [" ".join(random.choice(_WORDS, 6)) for _ in range(QUESTIONS)]
        vectors = {text: made.models.embedder.query(text) for text in questions}  # type: ignore[union-attr]

        def peer(text: str) -> object:
            vector = vectors[text]
            assert vector is not None
            [near] = made.store.search(bucket, [NearestQuery(vector, 50, keys=("record",))])
            worded, _ = index.retrieve(_tokens([text]), k=50, show_progress=False)
            ranks: Counter[str] = Counter()
            for ranking in ([str(point.payload["record"]) for point in near], [f"r{row}" for row in worded[0]]):
                ranks.update({record: 1 / (60 + rank) for rank, record in enumerate(ranking, 1)})
            best = [point_id(record) for record, _ in ranks.most_common(10)]
            return made.store.payloads(bucket, best, ["record", "name", "text", "fields"])

        theirs = _median(peer, questions)
        ours = _median(lambda text: executed(made, text), questions)
    shown = f"{ours:.2f} ms", f"dense + bm25s {theirs:.2f} ms", ours / theirs, "<= 1.5x"
    return Line(f"query of {COMPARED_RECORDS:,} records", *shown, met=ours <= 1.5 * theirs)


def _tokens(texts: list[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(texts, stopwords="en", stemmer=_STEMMER, show_progress=False)


def _records(count: int) -> list[dict[str, object]]:
    random = np.random.default_rng(11)
    return [
        {
            "id": f"r{number}",
            "name": " ".join(random.choice(_WORDS, 5)),
            "text": " ".join(random.choice(_WORDS, 60)),
            "facets": {"topic": " ".join(random.choice(_WORDS, 8)), "audience": " ".join(random.choice(_WORDS, 4))},
            "fields": {"track": f"t{number % 20}", "seats": number % 500},
        }
        for number in range(count)
    ]


def _steps(made: MemorySearchService) -> list[Line]:
    table = made.library.open(made.catalog.find("tenant", "c"), "talks")
    bucket = table.bucket(TablePart.MASTER)
    random = np.random.default_rng(5)
    questions = [" ".join(random.choice(_WORDS, 6)) for _ in range(QUESTIONS)]
    vectors = {text: made.library.question(table, text) for text in questions}

    def raw(text: str) -> object:
        vector = vectors[text]
        assert vector is not None
        return made.store.search(bucket, [NearestQuery(vector, 10, keys=("record", "name", "fields"))])

    def step(text: str) -> object:
        return executed(made, text)

    def filtered(text: str) -> object:
        return executed(made, text, filters={"track": "t3"})

    def faceted(text: str) -> object:
        return executed(made, text, search_mode="faceted")

    plain = _median(raw, questions)
    out = []
    for name, work in (("master", step), ("master with a filter", filtered), ("faceted", faceted)):
        took = _median(work, questions)
        limit = max(5.0, 10 * plain)
        shown = f"{took:.2f} ms", f"raw {plain:.2f} ms", took / plain, f"<= {limit:.1f} ms"
        out.append(Line(f"search step, {name}", *shown, met=took <= limit))
    answered = _times(lambda text: made.search(text, plan=[_plan(text)]), questions)
    refused = _times(made.search, questions[:50])
    for name, took_by in (("answered", answered), ("not found, all retries", refused)):
        out.append(_ms(f"whole job in process, {name}, p50", statistics.median(took_by), 60.0))
        out.append(_ms(f"whole job in process, {name}, p95", _p95(took_by), 150.0))
    return out


def _plan(text: str) -> dict[str, object]:
    return {"table": "talks", "search_mode": "master", "query_text": text, "score_threshold": 0.0}


def executed(made: MemorySearchService, text: str, **more: object) -> float:
    """Return the milliseconds of the query as the ledger has them."""
    plan = [{**_plan(text), **more}]
    result = made.search(text, plan=plan, answer=False, max_reflections=0)
    return result.attempts[0].queries[0].ms


def _embedding() -> list[Line]:
    embedder = model()
    questions = [f"how do I tune a database with {number} tables and many indexes" for number in range(QUESTIONS)]
    took = _times(embedder.query, questions)
    with TemporaryDirectory(prefix="assay-bench-") as folder:
        command = [sys.executable, "-c", _COLD, folder]
        subprocess.run(command, check=True)  # writes the graph
        starts = []
        for _ in range(3):
            before = os.times()
            subprocess.run(command, check=True)
            after = os.times()
            starts.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return [
        _ms("one question embedded, p95", _p95(took), 25.0),
        *(_bulk(int8) for int8 in (False, True)),
        _seconds("cold start to the first question embedded", min(starts), 2.0),
    ]


def _bulk(int8: bool) -> Line:
    """Texts of 60 words, as many as an ingest hands over at once, on two threads."""
    said = [str(record["text"]).split() for record in corpus.rules()]
    texts = [" ".join(words[:60]) for words in said if len(words) >= 60][:192]
    embedder = model(threads=2, int8=int8)
    embedder.documents(texts[:32])
    began = time.perf_counter()
    embedder.documents(texts)
    rate = len(texts) / (time.perf_counter() - began)
    return Line(f"bulk embedding, 60 words, {'int8' if int8 else 'fp32'}", f"{rate:.0f} texts/s", "", rate, "", True)


def _median(work: Callable[[str], object], questions: list[str]) -> float:
    """Return milliseconds; those of the ledger where the work reports them."""
    times = [work(text) for text in questions]
    if all(isinstance(value, float) for value in times):
        return statistics.median(value for value in times if isinstance(value, float))
    return statistics.median(_times(work, questions))


def _times(work: Callable[[str], object], questions: list[str]) -> list[float]:
    out = []
    for text in questions:
        began = time.perf_counter()
        work(text)
        out.append((time.perf_counter() - began) * 1000)
    return out


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _ms(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.2f} ms", "", value / target, f"<= {target:g} ms", value <= target)


def _seconds(what: str, value: float, target: float, beside: str = "") -> Line:
    return Line(what, f"{value:.2f} s", beside, value / target, f"<= {target:g} s", value <= target)
