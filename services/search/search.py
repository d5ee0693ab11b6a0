"""``search``: plan, execute, check, reflect and replan, answer; and say plainly when nothing answers the question."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue

from services.search import answering
from services.search.answering import ComposedAnswer
from services.search.llm.chat import Latencies, StructuredChat
from services.search.planning import first_plan, relax
from services.search.planning.first_plan import Plan
from services.search.planning.ledger import Ledger
from services.search.planning.reflection import Reflector, Replan
from services.search.planning.relax import QueryEvidence
from services.search.queries.filters import names
from services.search.queries.query import Query
from services.search.retrieval import passages
from services.search.retrieval.answerability import UNLIKELY
from services.search.retrieval.engine import SearchEngine
from services.search.retrieval.runner import OUTAGES, QueryRunner
from services.search.store.port import TablePart
from services.search.tables.catalog import CollectionInfo
from services.search.tables.field_values import FieldValues, sampled
from services.search.tables.library import Library, OpenTable, TablesOf
from services.search.tables.thresholds import Threshold
from shared.amounts import amount
from shared.contracts.evaluations import RUN_LABEL
from shared.contracts.search import Evaluation, Hit, SearchInput, SearchResult
from shared.errors import EmbeddingUnavailable, JobCancelled, SearchStoreUnavailable, UnknownField
from shared.jobs.job import Context

_CHUNK = 400
_MAX_WORDINGS = 3  #: that are judged
_MAX_SAMPLED = 20  #: tables of which a model is shown examples


class Search:
    """The capability, with what it reads from."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._latencies = Latencies()

    def __call__(self, context: Context, request: SearchInput) -> SearchResult:
        """Run a search job. Raises: UnknownCollection, UnknownTable, UnknownField, EmbeddingChanged, and outages of
        the store.
        """
        info = self._library.catalog.find(context.job.tenant_id, request.collection)
        return _SearchRun(self._library, self._latencies, context, request, info).result()


class _Named(Mapping[str, OpenTable]):
    """The tables that a search may go to: those that the caller named, in every attempt, unless it may be relaxed."""

    def __init__(self, tables: Mapping[str, OpenTable], request: SearchInput) -> None:
        self._tables = tables
        self._names = None if request.relax_filters or not request.tables else tuple(request.tables)

    def __getitem__(self, name: str) -> OpenTable:
        if self._names is not None and name not in self._names:
            raise KeyError(name)
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables if self._names is None else self._names)

    def __len__(self) -> int:
        return len(self._tables if self._names is None else self._names)


class _Known:
    """The tables of the collection and what they hold, as models are shown them."""

    def __init__(self, library: Library, tables: TablesOf, engine: SearchEngine) -> None:
        self._library = library
        self._tables = tables
        self._engine = engine

    @property
    def names(self) -> Collection[str]:
        return list(self._tables)

    def values(self, table: str) -> FieldValues:
        return self._engine.values(table)

    def sampled(self, tables: Mapping[str, OpenTable]) -> JsonValue:
        shown: dict[str, JsonValue] = {}
        for name in list(tables)[:_MAX_SAMPLED]:
            with suppress(*OUTAGES):  # the search itself will report the outage
                shown[name] = sampled(self._library.store, tables[name])
        return shown


class _SearchRun:
    """One search."""

    def __init__(
        self, library: Library, latencies: Latencies, context: Context, request: SearchInput, info: CollectionInfo
    ) -> None:
        self._library = library
        self._context = context
        self._request = request
        self._info = info
        self._tables = TablesOf(library, info, context.llm)
        self._engine = SearchEngine(library, self._tables, request.profile, request.question)
        self._ledger = Ledger()
        seconds = min(context.budget.seconds_left, library.settings.search_seconds)
        self._deadline = time.monotonic() + seconds
        self._chat = StructuredChat(context, latencies, self._deadline, library.settings.search_model_seconds)
        self._runner = QueryRunner(self._engine, self._tables, library.store.concurrent, context.cancelled)
        self._reflector = Reflector(
            request,
            _Named(self._tables, request),
            self._engine,
            self._ledger,
            known=_Known(library, self._tables, self._engine),
            history=context.history,
            rewrites=lambda: library.catalog.rewrites(info.tenant_id, info.id),
            warn=context.report.warn,
        )

    def result(self) -> SearchResult:
        self._event("acknowledgment", message="I am looking into it.")
        plan = self._plan()
        first = tuple(self._supported(query) for query in plan.queries)
        self._execute(Replan("initial", first, "", ""))
        first_evidence: list[QueryEvidence] = []
        while self._unanswered(plan):
            retry = self._may_retry()
            if not retry and first_evidence:
                break
            latest = self._evidence(self._ledger.zero_tables)
            first_evidence = first_evidence or list(latest)
            replan = self._replan(latest, first_evidence) if retry else None
            if replan is None:
                break
            self._execute(replan)
        self._rethink_weak()
        if first_evidence:  # also for tables that only a later plan searched
            explained = {entry.query.table for entry in first_evidence}
            first_evidence += self._evidence([table for table in self._ledger.zero_tables if table not in explained])
        return self._answer(plan, first_evidence)

    def _plan(self) -> Plan:
        self._progress("plan_queries", "Planning the search.")
        request, warn = self._request, self._context.report.warn
        for table in [*(request.tables or []), *(query.table for query in request.plan or [])]:
            self._tables.check(table)
        if request.plan:
            plan = first_plan.from_caller(request, request.plan)
        else:
            eligible = self._eligible()
            history, known = self._context.history, _Known(self._library, self._tables, self._engine)
            model = first_plan.from_model(request, eligible, self._chat, history, known, warn)
            plan = model or first_plan.mechanical(request, eligible, self._engine, history)
        for query in plan.queries:
            self._engine.conditions(query)  # refuses a filter that does not fit before anything is searched
        for warning in plan.warnings:
            warn(warning)
        if any(table.embedder is None for table in self._tables.opened):
            warn("No embedding model is available: the search went by keywords only.")
        return plan

    def _eligible(self) -> Mapping[str, OpenTable]:
        """Return the tables to plan with: those that were named, else those that have the fields of the filters."""
        request, specs = self._request, self._info.tables
        if request.tables:
            return {name: self._tables[name] for name in request.tables}
        able = [
            name
            for name, spec in specs.items()
            if all(field in spec.fields for field in names(request.filters, spec.fields))
        ]
        if not able:
            missing = ", ".join(sorted(set(names(request.filters, {}))))
            raise UnknownField(f"no table of the collection has all of these fields to filter on: {missing}"[:500])
        return {name: self._tables[name] for name in able}

    def _supported(self, query: Query) -> Query:
        """Faceted search of a table whose records have no facets becomes master search."""
        if query.mode == "faceted" and not self._may_have_facets(query.table):
            return replace(query, mode="master")
        return query

    def _may_have_facets(self, table: str) -> bool:
        try:
            return self._engine.has_facets(table)
        except OUTAGES:
            return True  # the search itself will report the outage

    def _execute(self, replan: Replan) -> None:
        """Execute a plan; every query of the search passes through here."""
        number = len(self._ledger.attempts) + 1
        tables = ", ".join(dict.fromkeys(query.table for query in replan.queries))
        self._progress("execute_queries", f"Searching {tables}.", attempt=number)
        outcomes = self._runner.run(replan.queries)
        with_hits = {outcome.query.table for outcome in [*self._ledger.outcomes, *outcomes] if outcome.matches}
        outcomes += self._runner.run([query for query in replan.otherwise if query.table not in with_hits])
        self._ledger.add(replan.strategy, replan.reasoning, replan.user_message, outcomes)
        hits: dict[str, JsonValue] = {outcome.query.table: len(outcome.matches) for outcome in outcomes}
        proposal: JsonValue = [query.planned().model_dump(mode="json") for query in replan.queries]
        self._context.report.turn(number, {"strategy": replan.strategy, "queries": proposal}, hits)

    def _unanswered(self, plan: Plan) -> bool:
        """Return whether a table came back empty that should not have."""
        self._progress("check_results", "Checking what was found.")
        if self._context.cancelled.is_set():
            raise JobCancelled("the search was cancelled")
        self._refuse_outage()
        # A plan whose tables were not chosen tries every table; one that answers is enough.
        return bool(self._ledger.pending_tables) and (plan.deliberate or not self._ledger.any_match)

    def _rethink_weak(self) -> None:
        """Search a model's rewording of the question while every hit is weak. A code cannot be reworded."""
        while self._ledger.any_match and not self._ledger.any_strong and not self._engine.has_binding_codes:
            if not self._reflecting or not self._may_retry() or not self._chat.available("search.reflect"):
                return
            self._progress("reflect_and_replan", "Thinking about why nothing fits well.")
            left = self._request.max_reflections - len(self._ledger.attempts) + 1
            replan = self._reflector.by_model(self._evidence(self._ledger.weak_tables), self._chat, left)
            if replan is None:
                return
            self._announce(replan)
            self._execute(replan)
            self._refuse_outage()

    @property
    def _reflecting(self) -> bool:
        return self._request.reflection and self._library.settings.search_reflection

    def _may_retry(self) -> bool:
        """Return whether a retry is left, and time for it; warn if there is too little time."""
        if len(self._ledger.attempts) > self._request.max_reflections:
            return False
        in_time = time.monotonic() < self._deadline
        if not in_time:
            self._context.report.warn("The time for the search was over before every retry was made.")
        return in_time

    def _refuse_outage(self) -> None:
        """Raise an outage of every table, and warn of a partial one: a failed query does not mean that nothing
        matches.
        """
        failed = self._ledger.failed
        if not failed:
            return
        if not self._ledger.any_match:
            codes = {outcome.error for outcome in failed}
            error = EmbeddingUnavailable if codes == {EmbeddingUnavailable.code} else SearchStoreUnavailable
            raise error("the search could not be carried out; nothing is known about what the collection holds")
        tables = ", ".join(dict.fromkeys(outcome.query.table for outcome in failed))
        self._context.report.warn(f"These tables could not be searched: {tables}.")

    def _evidence(self, tables: Sequence[str]) -> list[QueryEvidence]:
        """Return why each of these tables gave no hits, by its latest queries."""
        queries = [outcome.query for table in tables for outcome in self._ledger.last(table)]
        try:
            return [relax.gather(self._engine, query) for query in queries]
        except OUTAGES:
            raise SearchStoreUnavailable("the search store failed in the queries for why nothing was found") from None

    def _replan(self, latest: Sequence[QueryEvidence], first: Sequence[QueryEvidence]) -> Replan | None:
        """Return what to try next, by the evidence of the ``latest`` queries and, as a last resort, of the ``first``
        ones.
        """
        reflecting = self._reflecting
        if all(entry.closed for entry in latest):
            reflecting = False  # only other tables are left to look into
        replan = self._reflector.by_cause(latest)
        why = "No model was called."
        if replan is None and reflecting and self._chat.available("search.reflect"):
            self._progress("reflect_and_replan", "Thinking about why nothing was found.")
            left = self._request.max_reflections - len(self._ledger.attempts) + 1
            replan = self._reflector.by_model(latest, self._chat, left)
            if replan is not None and left == 1:
                replan = self._reflector.last_resort(replan, first)
            why = "No model answered." if self._chat.silent else "The model had no plan that was new and could be run."
        if replan is None:
            self._progress("relax_and_retry", "Broadening the search.")
            replan = self._reflector.by_steps(latest, why)
        if replan is not None:
            self._announce(replan)
        return replan

    def _announce(self, replan: Replan) -> None:
        thinking = self._ledger.think(replan.user_message, replan.strategy, datetime.now(UTC))
        extra: dict[str, JsonValue] = {"retry_count": thinking.retry_count, "ts": thinking.ts.isoformat()}
        self._context.report.thinking(thinking.message, strategy=thinking.strategy, **extra)

    def _tell_relaxed(self, plan: Plan) -> None:
        """Warn of filters that no query with hits had any more."""
        given = {name for query in plan.queries for name, _ in query.filters}
        for table, hits in self._ledger.hits().items():
            found_by = [outcome.query for outcome in self._ledger.outcomes if outcome.query.table == table]
            labels = {hit.label for hit in hits} - {"exact"}
            if not hits or not labels:
                continue
            dropped = {
                name
                for query in found_by
                if query.label in labels
                for name in given - {kept for kept, _ in query.filters}
            }
            if dropped:
                names = ", ".join(sorted(dropped))
                self._context.report.warn(f"In table {table} the filters on {names} were relaxed to find anything.")

    def _answer(self, plan: Plan, why: Sequence[QueryEvidence]) -> SearchResult:
        self._progress("generate_response", "Putting the answer together.")
        hits = self._marked(self._ledger.hits())
        result = SearchResult(
            verdict=answering.verdict(hits),
            answer=None,
            citations=[],
            hits=hits,
            zero_result_tables=self._ledger.zero_tables,
            attempts=[attempt.view() for attempt in self._ledger.attempts],
            original_plan=[query.planned() for query in plan.queries],
            thinking=self._ledger.thinking,
            why_empty=relax.why_empty(why),
        )
        self._save()
        self._tell_relaxed(plan)
        if not self._request.answer:
            return result.model_copy(update={"evaluation": self._evaluation(result, None, None)})
        answerable = self._answerable(result)
        answer = self._compose(result, answerable)
        self._chat.tell_left_out()
        for start in range(0, len(answer.text), _CHUNK):
            self._event("chunk", text=answer.text[start : start + _CHUNK])
        self._context.report.remember(self._request.question, answer.text)
        composed: dict[str, object] = {"answer": answer.text, "citations": answer.citations}
        if not answer.answered and result.verdict == "found":
            composed["verdict"] = "weak"  # the topic is there, the answer is not
        evaluation = self._evaluation(result, answer, answerable)
        return result.model_copy(update={**composed, "evaluation": evaluation})

    def _marked(self, hits: Mapping[str, Sequence[Hit]]) -> dict[str, list[Hit]]:
        """Return the hits with the words of the question, and of the wordings that were searched, marked in their
        passages.
        """
        out = {}
        for name, rows in hits.items():
            wordings = {outcome.query.text for outcome in self._ledger.outcomes if outcome.query.table == name}
            asked = "\n".join([self._request.question, *sorted(wordings - {self._request.question})])
            out[name] = passages.marked(rows, asked, self._tables[name].words(TablePart.MASTER))
        return out

    def _answerable(self, result: SearchResult) -> float | None:
        """Return the estimate of the table that answers best; None without an estimate."""
        try:
            known = [
                self._engine.answerable(name, text, hits)
                for name, hits in result.hits.items()
                for text in self._wordings(name)
            ]
        except OUTAGES:
            return None
        return max((each for each in known if each is not None), default=None)

    def _wordings(self, table: str) -> list[str]:
        """Return the question, and what was searched in the table."""
        searched = [outcome.query.text for outcome in self._ledger.outcomes if outcome.query.table == table]
        return list(dict.fromkeys([self._request.question, *searched]))[:_MAX_WORDINGS]

    def _evaluation(self, result: SearchResult, answer: ComposedAnswer | None, answerable: float | None) -> Evaluation:
        def threshold_of(name: str) -> Threshold | None:
            table = self._tables[name]
            return table.thresholds.master if table.embedder else None

        return answering.evaluate(result.hits, answer, threshold_of, answerable)

    def _compose(self, result: SearchResult, answerable: float | None) -> ComposedAnswer:
        if not result.hits:
            return answering.nothing_found(result.attempts, result.why_empty, self._empty_tables())
        if self._chat.available("search.answer"):
            texts = answering.texts_of(self._library, self._tables, result.hits)
            answer = answering.from_model(
                self._chat, self._request.question, result.hits, result.attempts, texts, self._context.history
            )
            if answer is not None:
                if answer.dropped:
                    self._context.report.warn(
                        f"The model cited {amount(answer.dropped, 'record')} that the search did not find."
                    )
                if answer.unsupported:
                    self._context.report.warn(
                        f"{answer.unsupported} sentences of the model were left out: no record that was found says so."
                    )
                if answer.text:
                    return answer
                if not answer.answered:
                    return replace(answering.mechanical(result.hits, answerable=0.0), answered=False)
        coded = any(self._engine.codes(outcome.query).every for outcome in self._ledger.outcomes)
        unlikely = answerable is not None and answerable < UNLIKELY and not coded  # a code decides by itself
        return replace(answering.mechanical(result.hits, answerable), answered=not unlikely)

    def _empty_tables(self) -> list[str]:
        """Tables that were searched and hold no record at all."""
        try:
            return [name for name in self._ledger.tables if self._engine.is_empty(name)]
        except OUTAGES:
            return []

    def _save(self) -> None:
        """Save the attempts, and the successful rewrites, in the transaction that completes the job."""
        catalog, job = self._library.catalog, self._context.job
        rows = self._ledger.rows(job.id, job.tenant_id, self._info.id)
        self._context.report.effect(catalog.save_attempts(rows))
        if RUN_LABEL in job.labels:
            return  # what was only measured teaches nothing: the next run would not be like this one
        for rewrite in self._ledger.successful_rewrites():
            self._context.report.effect(catalog.save_rewrite(job.tenant_id, self._info.id, rewrite))

    def _progress(self, node: str, message: str, **data: JsonValue) -> None:
        self._event("progress", node=node, message=message, **data)

    def _event(self, type: str, **data: JsonValue) -> None:
        self._context.report.event(type, **data)
