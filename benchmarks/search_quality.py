"""How well it finds: before and after relaxing by hand and by a scripted model, and both arms against their fusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ir_measures import Qrel, ScoredDoc, iter_calc, nDCG

from benchmarks.golden import corpus
from benchmarks.golden.questions import CLASSES, Golden, load
from benchmarks.search_place import kept_model, place
from benchmarks.table import Line
from services.search.engine import Engine
from services.search.query import Query
from services.search.store.port import Nearest, Part
from shared.contracts.search import SearchResult
from tests.services.search.place import Place
from tests.support.context import MemoryContext, Script, ScriptedProvider

Ranked = Mapping[str, Sequence[str]]  #: ids by question, best first
Scores = Mapping[str, float]  #: nDCG@10 by arm
SINGLE = ("dense", "words", "pieces")


@dataclass(frozen=True)
class Asked:
    """A question of known answers in one table."""

    id: str
    table: str
    text: str
    relevant: Set[str]


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
    with place({**corpus.TABLES, "known": {}, "numpy": {}, "pandas": {}}, embedder) as made:
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
    """Every arm alone, and fused as a search fuses them, without any threshold."""
    out = []
    scored: list[Scores] = []
    for name, asked in (
        ("golden wordings", _golden_wordings()),
        ("rule messages", _rule_messages(made)),
        ("numpy summaries", _summaries(made, "numpy", corpus.numpy_functions())),
        ("pandas summaries", _summaries(made, "pandas", corpus.pandas_functions())),
    ):
        measured = _arms(made, asked)
        scored.append(measured)
        out.extend(_fused_lines(f"nDCG@10, {name} ({len(asked)})", measured))
    mean = {arm: sum(each[arm] for each in scored) / len(scored) for arm in scored[0]}
    out.extend(_fused_lines("nDCG@10, mean of the four", mean))
    slips = [replace(question, text=_slipped(question.text)) for question in _golden_wordings()]
    return [*out, *_fused_lines(f"nDCG@10, golden wordings with a slip each ({len(slips)})", _arms(made, slips))]


def _slipped(text: str) -> str:
    """The longest word with its second and third letter exchanged."""
    longest = max(text.split(), key=len)
    return text.replace(longest, longest[0] + longest[2:0:-1] + longest[3:], 1)


def _golden_wordings() -> list[Asked]:
    asked = []
    for number, golden in enumerate(load()):
        if golden.kind != "absent":
            table, text = _wording(golden)
            asked.append(Asked(f"g{number}", table, text, golden.relevant[table]))
    return asked


def _rule_messages(made: Place) -> list[Asked]:
    """Known items: what a rule's message says has to find the rule by what it does, its own words left out."""
    rules = [record for record in corpus.rules() if record["facets"].keys() >= {"what_it_does", "message"}]
    made.ingest("known", [{"id": rule["id"], "text": rule["facets"]["what_it_does"]} for rule in rules])
    return [Asked(rule["id"], "known", rule["facets"]["message"], {rule["id"]}) for rule in rules]


def _summaries(made: Place, table: str, functions: Iterable[corpus.Record]) -> list[Asked]:
    """Known items: the summary of a function has to find the rest of its documentation."""
    documented = list(functions)
    made.ingest(table, [{"id": item["id"], "text": item["rest"]} for item in documented])
    return [Asked(item["id"], table, item["summary"], {item["id"]}) for item in documented]


def _arms(made: Place, asked: Sequence[Asked]) -> Scores:
    info = made.catalog.find("tenant", "c")
    tables = {table: made.library.open(info, table) for table in {question.table for question in asked}}
    engine = Engine(made.library, tables, {})
    runs: dict[str, dict[str, Sequence[str]]] = {arm: {} for arm in (*SINGLE, "fused", "by ranks")}
    for question in asked:
        opened = tables[question.table]
        vector = made.library.question(opened, question.text)
        assert vector is not None
        said = opened.words(Part.MASTER)
        arms = (vector, said.query(question.text), said.query_pieces(question.text))
        searches = [Nearest(arm, 50, keys=("record",)) for arm in arms]
        found = made.store.search(opened.bucket(Part.MASTER), searches)
        alone = [[str(item.payload["record"]) for item in arm] for arm in found]
        for arm, ids in zip(SINGLE, alone, strict=True):
            runs[arm][question.id] = ids
        fused = engine.run(Query(question.table, "master", question.text, 10, 0.0, ()))
        runs["fused"][question.id] = [match.id for match in fused]
        runs["by ranks"][question.id] = _by_ranks(*alone[:2])
    qrels = [Qrel(question.id, item, 1) for question in asked for item in question.relevant]
    each = {arm: _scores(qrels, run) for arm, run in runs.items()}
    best = [max(each[arm].get(question.id, 0.0) for arm in SINGLE) for question in asked]
    means = {arm: sum(scores.values()) / len(asked) for arm, scores in each.items()}
    return {**means, "best of each": sum(best) / len(asked)}


def _by_ranks(*arms: Sequence[str]) -> list[str]:
    """Reciprocal rank fusion with its usual constant, the common way to do it."""
    scores: Counter[str] = Counter()
    for arm in arms:
        scores.update({item: 1 / (60 + rank) for rank, item in enumerate(arm, 1)})
    return [item for item, _ in scores.most_common(10)]


def _fused_lines(what: str, scored: Scores) -> list[Line]:
    """The fusion, and beside it the arm that is best for each question, which takes knowing the answer."""
    single = max(scored[arm] for arm in SINGLE)
    fused, ideal = scored["fused"] / single, scored["best of each"] / single
    arms = ", ".join(f"{arm} {scored[arm]:.3f}" for arm in (*SINGLE, "by ranks"))
    return [
        Line(what, f"{scored['fused']:.3f}", arms, fused, ">= 1.05x", fused >= 1.05),
        Line("  the best arm for each question", f"{scored['best of each']:.3f}", "", ideal, "", True),
    ]


def _scores(qrels: Iterable[Qrel], run: Ranked) -> Scores:
    """nDCG@10 by question."""
    docs = [ScoredDoc(asked, item, 1.0 / rank) for asked, ids in run.items() for rank, item in enumerate(ids[:10], 1)]
    return {str(scored.query_id): float(scored.value) for scored in iter_calc([nDCG @ 10], list(qrels), docs)}


def _share(flags: Iterable[bool]) -> float:
    counted = list(flags)
    return sum(counted) / len(counted)


def _most(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f"<= {target:.0%}", value <= target)


def _least(what: str, value: float, target: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, f">= {target:.0%}", value >= target)


def _shown(what: str, value: float) -> Line:
    return Line(what, f"{value:.1%}", "", value, "", True)
