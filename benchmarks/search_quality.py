"""How well it finds: before and after relaxing by hand and by a scripted model, and both arms against their fusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from ir_measures import Qrel, ScoredDoc, calc_aggregate, nDCG

from benchmarks.golden import corpus
from benchmarks.golden.questions import CLASSES, Golden, load
from benchmarks.search_place import kept_model, place
from benchmarks.table import Line
from services.search.ranking import fused
from services.search.store.port import Nearest, Part
from shared.contracts.search import SearchResult
from tests.services.search.place import Place
from tests.support.context import MemoryContext, Script, ScriptedProvider

Ranked = Mapping[str, Sequence[str]]  #: ids by question, best first


@dataclass(frozen=True)
class Outcome:
    golden: Golden
    result: SearchResult
    asked: int

    @property
    def recall(self) -> float:
        """Of the relevant records, how many are among the first ten of their table (at most ten can be)."""
        wanted = {(table, item) for table, ids in self.golden.relevant.items() for item in ids}
        found = {(table, hit.id) for table, hits in self.result.hits.items() for hit in hits[:10]}
        return len(wanted & found) / min(len(wanted), 10)


def lines() -> list[Line]:
    embedder = kept_model()
    with place({**corpus.TABLES, "known": {}}, embedder) as made:
        try:
            for table, records in corpus.tables().items():
                made.ingest(table, records)
            return [*_reflection(made), *_harm(made), *_fusion(made)]
        finally:
            embedder.save()


def _run(made: Place, golden: Golden, mode: str) -> Outcome:
    scripts: dict[str, Script] = (
        {} if mode == "by hand" or golden.reply is None else {"search.reflect": golden.reflection}
    )
    job = MemoryContext(llm=ScriptedProvider(scripts))
    retries = 0 if mode == "before" else 2
    result = made.search(golden.question, job=job, plan=[golden.query], answer=False, max_reflections=retries)
    return Outcome(golden, result, job.llm.asked("search.reflect"))


def _reflection(made: Place) -> list[Line]:
    questions = load()
    runs = {mode: [_run(made, golden, mode) for golden in questions] for mode in ("before", "by hand", "model")}
    out = []
    for mode, outcomes in runs.items():
        answerable = [outcome for outcome in outcomes if outcome.golden.kind != "absent"]
        zero = _share(not outcome.result.hits for outcome in answerable)
        recall = sum(outcome.recall for outcome in answerable) / len(answerable)
        target = {"before": 1.0, "by hand": 0.5, "model": 0.05}[mode]
        out.append(_most(f"no hit, answerable, {mode}", zero, target))
        if mode != "before":
            out.append(_least(f"recall@10, {mode}", recall, {"by hand": 0.4, "model": 0.8}[mode]))
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


def _harm(made: Place) -> list[Line]:
    """Questions that are answered at once: reflection must change nothing and ask nobody."""
    texts = [_wording(golden) for golden in load() if golden.kind != "absent"]
    asked = changed = 0
    for table, text in texts:
        plan = [{"table": table, "search_mode": "master", "query_text": text}]
        job = MemoryContext(llm=ScriptedProvider({"search.reflect": "{}"}))
        on = made.search(text, job=job, plan=plan, answer=False)
        off = made.search(text, plan=plan, answer=False, max_reflections=0)
        if off.hits:
            asked += job.llm.asked("search.reflect")
            changed += on.hits != off.hits
    return [
        _most("model calls on answered questions", asked / len(texts), 0.0),
        _most("hits changed by reflection where there were hits", changed / len(texts), 0.0),
    ]


def _wording(golden: Golden) -> tuple[str, str]:
    if golden.reply is None:
        return str(golden.plan["table"]), golden.question
    return golden.reply["table"], golden.reply["query_text"]


def _fusion(made: Place) -> list[Line]:
    """Both arms alone, and fused, without any threshold."""
    asked: list[tuple[str, str, str, Set[str]]] = []  # question id, table, text, relevant
    for number, golden in enumerate(load()):
        if golden.kind != "absent":
            table, text = _wording(golden)
            asked.append((f"g{number}", table, text, golden.relevant[table]))
    out = _arms(made, "golden wordings", asked)
    # Known items: what a rule's message says has to find the rule by what it does, its own words left out.
    blind = [
        {"id": record["id"], "name": "", "text": record["facets"]["what_it_does"]}
        for record in corpus.rules()
        if "what_it_does" in record["facets"]
    ]
    made.ingest("known", blind)
    messages = {str(record["id"]): str(record["facets"].get("message", "")) for record in corpus.rules()}
    known = [(item["id"], "known", messages[item["id"]], {item["id"]}) for item in blind if messages[item["id"]]]
    return [*out, *_arms(made, "rule messages", known)]


def _arms(made: Place, name: str, asked: Sequence[tuple[str, str, str, Set[str]]]) -> list[Line]:
    info = made.catalog.find("tenant", "c")
    tables = {table: made.library.open(info, table) for table in {table for _, table, _, _ in asked}}
    runs: dict[str, dict[str, Sequence[str]]] = {"dense": {}, "words": {}, "fused": {}}
    for identity, table, text, _ in asked:
        opened = tables[table]
        bucket = opened.bucket(Part.MASTER)
        vector = made.library.question(opened, text)
        assert vector is not None
        found = made.store.search(
            bucket,
            [
                Nearest(vector, 50, keys=("record",)),
                Nearest(opened.words(Part.MASTER).query(text), 50, keys=("record",)),
            ],
        )
        arms = [[str(item.payload["record"]) for item in arm] for arm in found]
        scores = fused(arms)
        runs["dense"][identity], runs["words"][identity] = arms
        runs["fused"][identity] = sorted(scores, key=lambda item: (-scores[item], item))
    qrels = [Qrel(identity, item, 1) for identity, _, _, ids in asked for item in ids]
    scored = {arm: _scores(qrels, run) for arm, run in runs.items()}
    best = max(scored["dense"], scored["words"])
    ratio = scored["fused"] / best
    shown = f"dense {scored['dense']:.3f}, words {scored['words']:.3f}"
    return [Line(f"nDCG@10, {name} ({len(asked)})", f"{scored['fused']:.3f}", shown, ratio, ">= 1.05x", ratio >= 1.05)]


def _scores(qrels: Iterable[Qrel], run: Ranked) -> float:
    docs = [ScoredDoc(asked, item, 1.0 / rank) for asked, ids in run.items() for rank, item in enumerate(ids[:10], 1)]
    measured = calc_aggregate([nDCG @ 10], list(qrels), docs)
    return float(measured[nDCG @ 10])


def _share(flags: Iterable[bool]) -> float:
    counted = list(flags)
    return sum(counted) / len(counted)


def _most(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f"<= {target:.0%}", value <= target)


def _least(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f">= {target:.0%}", value >= target)


def _shown(what: str, value: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, "", True)
