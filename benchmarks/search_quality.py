"""How well search finds: before and after relaxing, with and without a model; the fusion compared with its peers.

Peers are the same dense vectors, bm25s (stop words and stems of English), and both by reciprocal ranks. The p of the
difference from the best one is by paired bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import bm25s
import numpy as np
import Stemmer
from ir_measures import Qrel, ScoredDoc, iter_calc, nDCG

from benchmarks import search_sets
from benchmarks.golden.questions import CLASSES, Golden, load
from benchmarks.search_service import kept_model, search_service
from benchmarks.search_sets import Asked
from benchmarks.table import Line
from services.search.queries.query import Query
from services.search.retrieval.engine import SearchEngine
from services.search.store.port import NearestQuery, TablePart
from services.search.tables.library import WHOLE, OpenTable
from services.search.tables.points import record_of, whole_text
from shared.contracts.search import SearchResult
from tests.services.search.service import MemorySearchService
from tests.support.context import MemoryContext, Script, ScriptedProvider

Ranked = Mapping[str, Sequence[str]]  #: ids by question, best first
Scores = Mapping[str, float]  #: nDCG@10 by retriever
SINGLE = ("dense", "words", "n-grams")
PEERS = ("dense", "bm25s", "by ranks")
_STEMMER = Stemmer.Stemmer("english")
_RESAMPLES = 10_000
_GOAL = 1.03  #: of the best peer


@dataclass(frozen=True)
class Outcome:
    golden: Golden
    result: SearchResult
    asked: int

    @property
    def recall(self) -> float:
        """Of the relevant records, how many are among the first ten of their table (at most ten can be)."""
        relevant = {(table, item) for table, ids in self.golden.relevant.items() for item in ids}
        first = {(table, hit.id) for table, hits in self.result.hits.items() for hit in hits[:10]}
        return len(relevant & first) / min(len(relevant), 10)


def lines() -> list[Line]:
    embedder = kept_model()
    with search_service(search_sets.TABLES, embedder) as service:
        try:
            search_sets.ingest_golden(service)
            return [*_reflection(service), *_harm(service), *_fusion(service)]
        finally:
            embedder.save()


def _run(service: MemorySearchService, golden: Golden, mode: str) -> Outcome:
    scripts: dict[str, Script] = (
        {} if mode == "mechanical" or golden.reply is None else {"search.reflect": golden.reflection}
    )
    job = MemoryContext(llm=ScriptedProvider(scripts))
    retries = 0 if mode == "before" else 2
    result = service.search(
        golden.question,
        job=job,
        plan=[golden.query],
        answer=False,
        max_reflections=retries,
        relax_filters=bool(retries),  # the caller's own filters bind otherwise
    )
    return Outcome(golden, result, job.llm.asked("search.reflect"))


def _reflection(service: MemorySearchService) -> list[Line]:
    questions = load()
    runs = {mode: [_run(service, golden, mode) for golden in questions] for mode in ("before", "mechanical", "model")}
    out = []
    for mode, outcomes in runs.items():
        answerable = [outcome for outcome in outcomes if outcome.golden.kind != "absent"]
        zero = _share(not outcome.result.hits for outcome in answerable)
        recall = sum(outcome.recall for outcome in answerable) / len(answerable)
        target = {"before": 1.0, "mechanical": 0.5, "model": 0.05}[mode]
        out.append(_most(f"no hit, answerable, {mode}", zero, target))
        if mode != "before":
            out.append(_least(f"recall@10, {mode}", recall, {"mechanical": 0.4, "model": 0.8}[mode]))
            out.extend(_by_class(mode, answerable))
            absent = [outcome.result.verdict for outcome in outcomes if outcome.golden.kind == "absent"]
            counted = Counter(absent)
            out.append(_most(f"absent reported as found, {mode}", counted["found"] / len(absent), 0.1))
            out.append(_shown(f"absent reported as weak, {mode}", counted["weak"] / len(absent)))
    return out


def _by_class(mode: str, outcomes: Sequence[Outcome]) -> list[Line]:
    out = []
    for kind in CLASSES[:3]:
        mine = [outcome for outcome in outcomes if outcome.golden.kind == kind]
        out.append(_shown(f"  no hit, {kind}, {mode}", _share(not outcome.result.hits for outcome in mine)))
        out.append(_shown(f"  recall@10, {kind}, {mode}", sum(outcome.recall for outcome in mine) / len(mine)))
    return out


def _harm(service: MemorySearchService) -> list[Line]:
    """Questions that are answered at once: reflection must change nothing and call no model."""
    texts = [search_sets.wording(golden) for golden in load() if golden.kind != "absent"]
    asked = changed = 0
    for table, text in texts:
        plan = [{"table": table, "search_mode": "master", "query_text": text}]
        job = MemoryContext(llm=ScriptedProvider({"search.reflect": "{}"}))
        on = service.search(text, job=job, plan=plan, answer=False)
        off = service.search(text, plan=plan, answer=False, max_reflections=0)
        if off.hits:
            asked += job.llm.asked("search.reflect")
            changed += on.hits != off.hits
    return [
        _most("model calls on answered questions", asked / len(texts), 0.0),
        _most("hits changed by reflection where there were hits", changed / len(texts), 0.0),
    ]


def _fusion(service: MemorySearchService) -> list[Line]:
    """Return every retriever alone, and all fused as a search fuses them, without any threshold."""
    out = []
    for name, asked in search_sets.ingest_known(service).items():
        out.extend(_fused_lines(f"nDCG@10, {name} ({len(asked)})", _retrieve(service, asked)))
    slips = [replace(question, text=_slipped(question.text)) for question in search_sets.golden_wordings()]
    return [*out, *_fused_lines(f"nDCG@10, golden wordings with a slip each ({len(slips)})", _retrieve(service, slips))]


def _slipped(text: str) -> str:
    """Return the longest word with its second and third letter exchanged."""
    longest = max(text.split(), key=len)
    return text.replace(longest, longest[0] + longest[2:0:-1] + longest[3:], 1)


def _retrieve(service: MemorySearchService, asked: Sequence[Asked]) -> Mapping[str, Scores]:
    """Return nDCG@10 of each question, by retriever."""
    info = service.catalog.find("tenant", "c")
    tables = {table: service.library.open(info, table) for table in {question.table for question in asked}}
    engine = SearchEngine(service.library, tables, {})
    worded = {name: _bm25s(service, table) for name, table in tables.items()}
    runs: dict[str, dict[str, Sequence[str]]] = {retriever: {} for retriever in (*SINGLE, *PEERS, "fused")}
    for question in asked:
        opened = tables[question.table]
        vector = service.library.question(opened, question.text)
        assert vector is not None
        words = opened.words(TablePart.MASTER)
        vectors = (vector, words.query(question.text), words.query_ngrams(question.text))
        searches = [NearestQuery(each, 50, keys=("record",)) for each in vectors]
        results = service.store.search(opened.bucket(TablePart.MASTER), searches)
        alone = [list(dict.fromkeys(str(point.payload["record"]) for point in points)) for points in results]
        for retriever, ids in zip(SINGLE, alone, strict=True):
            runs[retriever][question.id] = ids
        fused = engine.run(Query(question.table, "master", question.text, 10, 0.0, (), cut=True))
        runs["fused"][question.id] = [match.id for match in fused]
        runs["bm25s"][question.id] = worded[question.table](question.text)
        runs["by ranks"][question.id] = by_ranks(alone[0], runs["bm25s"][question.id])
    each = {retriever: gains(asked, run) for retriever, run in runs.items()}
    return {name: {question.id: scores.get(question.id, 0.0) for question in asked} for name, scores in each.items()}


def _bm25s(service: MemorySearchService, table: OpenTable) -> Callable[[str], list[str]]:
    """Return the order of bm25s over the table's whole records."""
    pages = service.store.every_payload(table.bucket(TablePart.MASTER), WHOLE)
    records = [record_of(payload) for page in pages for payload in page]
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(_tokens([whole_text(record) for record in records]), show_progress=False)

    def find(text: str) -> list[str]:
        best, scores = index.retrieve(_tokens([text]), k=min(50, len(records)), show_progress=False)
        return [records[row].id for row, score in zip(best[0], scores[0], strict=True) if score > 0]

    return find


def _tokens(texts: Sequence[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(list(texts), stopwords="en", stemmer=_STEMMER, show_progress=False)


def by_ranks(*rankings: Sequence[str]) -> list[str]:
    """Reciprocal rank fusion with its usual constant, the common way to do it."""
    scores: Counter[str] = Counter()
    for ranking in rankings:
        scores.update({item: 1 / (60 + rank) for rank, item in enumerate(ranking, 1)})
    return [item for item, _ in scores.most_common(10)]


def _fused_lines(what: str, scored: Mapping[str, Scores]) -> list[Line]:
    """Return the fusion, and next to it the retriever that is best for each question, if the answer is known."""
    means = {name: _mean(scores.values()) for name, scores in scored.items()}
    best = max(PEERS, key=means.__getitem__)
    ratio = means["fused"] / means[best]
    ideal = _mean(max(scored[retriever][key] for retriever in SINGLE) for key in scored["fused"])
    peers = ", ".join(f"{name} {means[name]:.3f}" for name in PEERS)
    p = _p_of_no_gain([scored["fused"][key] - scored[best][key] for key in scored["fused"]])
    return [
        Line(what, f"{means['fused']:.3f}", f"{peers} (p {p:.3f})", ratio, f">= {_GOAL}x", ratio >= _GOAL),
        Line("  the best retriever for each question", f"{ideal:.3f}", "", ideal / means[best], "", True),
    ]


def _p_of_no_gain(differences: Sequence[float]) -> float:
    """Return the two-sided p of the mean difference, by paired bootstrap."""
    values = np.asarray(differences)
    random = np.random.default_rng(7)
    means = values[random.integers(len(values), size=(_RESAMPLES, len(values)))].mean(axis=1)
    below = float((means <= 0).mean())
    return 2 * min(below, 1 - below)


def _mean(values: Iterable[float]) -> float:
    counted = list(values)
    return sum(counted) / len(counted)


def gains(asked: Sequence[Asked], run: Ranked) -> Scores:
    """nDCG@10 by question."""
    qrels = [Qrel(question.id, item, 1) for question in asked for item in question.relevant]
    docs = [ScoredDoc(text, item, 1.0 / rank) for text, ids in run.items() for rank, item in enumerate(ids[:10], 1)]
    return {str(scored.query_id): float(scored.value) for scored in iter_calc([nDCG @ 10], qrels, docs)}


def _share(flags: Iterable[bool]) -> float:
    counted = list(flags)
    return sum(counted) / len(counted)


def _most(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f"<= {target:.0%}", value <= target)


def _least(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f">= {target:.0%}", value >= target)


def _shown(what: str, value: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, "", True)
