"""``search``: plan, execute, check, reflect and replan, answer. What is not there is said to be not there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue

from services.search import answering, evaluation, evidence, kept, planning
from services.search.ask import Asker, Pace
from services.search.catalog import CollectionInfo
from services.search.engine import Engine
from services.search.evidence import Evidence
from services.search.execution import OUTAGES, Runner
from services.search.ledger import Ledger, Try
from services.search.library import Library, OpenTable, TablesOf
from services.search.planning import Plan
from services.search.query import Query
from services.search.reflection import Reflector, Replan
from services.search.thresholds import Mark
from shared.contracts.search import Evaluation, SearchInput, SearchResult
from shared.errors import (
    EmbeddingUnavailable,
    JobCancelled,
    SearchStoreUnavailable,
    UnknownField,
)
from shared.jobs.job import Context

_CHUNK = 400


class Search:
    """The capability: holds what it reads from."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._pace = Pace()

    def __call__(self, context: Context, wanted: SearchInput) -> SearchResult:
        """Raises: UnknownCollection, UnknownTable, UnknownField, EmbeddingChanged, and outages of the store."""
        info = self._library.catalog.find(context.job.tenant_id, wanted.collection)
        return _Run(self._library, self._pace, context, wanted, info).result()


class _Run:
    """One search."""

    def __init__(
        self, library: Library, pace: Pace, context: Context, wanted: SearchInput, info: CollectionInfo
    ) -> None:
        self._library = library
        self._context = context
        self._wanted = wanted
        self._info = info
        self._tables = TablesOf(library, info)
        self._engine = Engine(library, self._tables, wanted.profile)
        self._ledger = Ledger()
        seconds = min(context.budget.seconds_left, library.settings.search_seconds)
        self._deadline = time.monotonic() + seconds
        self._asker = Asker(context, pace, self._deadline, library.settings.search_model_seconds)
        self._runner = Runner(self._engine, self._tables, library.store.concurrent, context.cancelled)
        self._reflector = Reflector(
            wanted,
            self._tables,
            self._engine,
            self._ledger,
            rewrites=lambda: library.catalog.rewrites(info.id),
            warn=context.report.warn,
        )

    def result(self) -> SearchResult:
        self._say("acknowledgment", message="I am looking into it.")
        plan = self._plan()
        first = tuple(self._able(query) for query in plan.queries)
        self._execute(Replan("initial", first, "", ""))
        why: list[Evidence] = []
        while self._unanswered(plan):
            again = self._may_retry()
            if not again and why:
                break
            found = self._evidence(self._ledger.zero_tables)
            why = why or list(found)
            replan = self._replan(found, why) if again else None
            if replan is None:
                break
            self._execute(replan)
        if why:  # of tables that only a later plan came to, too
            why += self._evidence([table for table in self._ledger.zero_tables if table not in _tables_of(why)])
        return self._answer(plan, why)

    def _plan(self) -> Plan:
        self._progress("plan_queries", "Planning the search.")
        wanted = self._wanted
        for table in [*(wanted.tables or []), *(query.table for query in wanted.plan or [])]:
            self._tables.check(table)
        if wanted.plan:
            plan = planning.of_caller(wanted, wanted.plan)
        else:
            eligible = self._eligible()
            model = planning.of_model(wanted, eligible, self._asker, self._context.history, self._context.report.warn)
            plan = model or planning.mechanical(wanted, eligible, self._engine)
        for query in plan.queries:
            self._engine.conditions(query)  # refuses a filter that does not fit before anything is searched
        for warning in plan.warnings:
            self._context.report.warn(warning)
        if any(table.embedder is None for table in self._tables.opened):
            self._context.report.warn("No embedding model is available: the search went by keywords only.")
        return plan

    def _eligible(self) -> Mapping[str, OpenTable]:
        """Tables to plan with: those that were named, else those that have the fields of the filters."""
        named = self._wanted.tables
        if named:
            return {name: self._tables[name] for name in named}
        specs = self._info.tables
        able = [name for name, spec in specs.items() if all(field in spec.fields for field in self._wanted.filters)]
        if not able:
            missing = ", ".join(sorted(self._wanted.filters))
            raise UnknownField(f"no table of the collection has all of these fields to filter on: {missing}"[:500])
        return {name: self._tables[name] for name in able}

    def _able(self, query: Query) -> Query:
        """Faceted search of a table whose records have no facets is master search."""
        if query.mode == "faceted" and not self._safely_faceted(query.table):
            return replace(query, mode="master")
        return query

    def _safely_faceted(self, table: str) -> bool:
        try:
            return self._engine.has_facets(table)
        except OUTAGES:
            return True  # the search itself will say so

    def _execute(self, replan: Replan) -> Try:
        """The one place where anything is searched."""
        number = len(self._ledger.tries) + 1
        tables = ", ".join(dict.fromkeys(query.table for query in replan.queries))
        self._progress("execute_queries", f"Searching {tables}.", attempt=number)
        executed = self._runner.run(replan.queries)
        found = {item.query.table for item in [*self._ledger.executed, *executed] if item.matches}
        executed += self._runner.run([query for query in replan.otherwise if query.table not in found])
        done = self._ledger.add(replan.strategy, replan.reasoning, replan.user_message, executed)
        outcome: dict[str, JsonValue] = {item.query.table: len(item.matches) for item in executed}
        proposal: JsonValue = [query.planned().model_dump(mode="json") for query in replan.queries]
        self._context.report.turn(number, {"strategy": replan.strategy, "queries": proposal}, outcome)
        return done

    def _unanswered(self, plan: Plan) -> bool:
        """Whether a table came back empty that should not have."""
        self._progress("check_results", "Checking what was found.")
        if self._context.cancelled.is_set():
            raise JobCancelled("the search was cancelled")
        self._refuse_outage()
        # A plan that nobody chose tries every table; one that answers is enough.
        answered = any(item.matches for item in self._ledger.executed)
        return bool(self._ledger.pending_tables) and (plan.deliberate or not answered)

    def _may_retry(self) -> bool:
        return len(self._ledger.tries) <= self._wanted.max_reflections and time.monotonic() < self._deadline

    def _refuse_outage(self) -> None:
        """A store that failed has not said that there is nothing."""
        failed = self._ledger.failed
        if not failed:
            return
        if not any(item.matches for item in self._ledger.executed):
            codes = {item.error for item in failed}
            error = EmbeddingUnavailable if codes == {EmbeddingUnavailable.code} else SearchStoreUnavailable
            raise error("the search could not be carried out; nothing is known about what the collection holds")
        tables = ", ".join(dict.fromkeys(item.query.table for item in failed))
        self._context.report.warn(f"These tables could not be searched: {tables}.")

    def _evidence(self, tables: Sequence[str]) -> list[Evidence]:
        """Why each of these empty tables is empty, by its latest queries."""
        queries = [item.query for table in tables for item in self._ledger.last(table)]
        try:
            return [evidence.gather(self._engine, query) for query in queries]
        except OUTAGES:
            raise SearchStoreUnavailable("the search store failed while it was asked why nothing was found") from None

    def _replan(self, found: Sequence[Evidence], first: Sequence[Evidence]) -> Replan | None:
        """What to try next by the evidence of the latest queries; ``first`` is that of the plan."""
        reflecting = self._wanted.reflection and self._library.settings.search_reflection and not self._asker.down
        replan = self._reflector.by_cause(found)
        why = "No model was asked."
        if replan is None and reflecting:
            self._progress("reflect_and_replan", "Thinking about why nothing was found.")
            left = self._wanted.max_reflections - len(self._ledger.tries) + 1
            replan = self._reflector.by_model(found, self._asker, left)
            if replan is not None and left == 1:
                replan = self._reflector.last_resort(replan, first)
            why = "No model answered." if self._asker.down else "The model had no plan that was new and could be run."
        if replan is None:
            self._progress("relax_and_retry", "Broadening the search.")
            replan = self._reflector.by_steps(found, why)
        if replan is not None:
            said = self._ledger.think(replan.user_message, replan.strategy, datetime.now(UTC))
            extra: dict[str, JsonValue] = {"retry_count": said.retry_count, "ts": said.ts.isoformat()}
            self._context.report.thinking(said.message, strategy=said.strategy, **extra)
        return replan

    def _answer(self, plan: Plan, why: Sequence[Evidence]) -> SearchResult:
        self._progress("generate_response", "Putting the answer together.")
        hits = self._ledger.hits()
        attempts = [done.shown() for done in self._ledger.tries]
        told = evidence.told(why)
        result = SearchResult(
            verdict=answering.verdict(hits),
            answer=None,
            citations=[],
            hits=hits,
            zero_result_tables=self._ledger.zero_tables,
            attempts=attempts,
            original_plan=[query.planned() for query in plan.queries],
            thinking=self._ledger.thinking,
            why_empty=told,
        )
        self._keep()
        if not self._wanted.answer:
            return result.model_copy(update={"evaluation": self._evaluated(result, None)})
        answered = self._answered(result)
        for start in range(0, len(answered.text), _CHUNK):
            self._say("chunk", text=answered.text[start : start + _CHUNK])
        self._context.report.remember(self._wanted.question, answered.text)
        said = {"answer": answered.text, "citations": answered.citations}
        return result.model_copy(update={**said, "evaluation": self._evaluated(result, answered)})

    def _evaluated(self, result: SearchResult, answered: answering.Answered | None) -> Evaluation:
        def mark_of(name: str) -> Mark | None:
            table = self._tables[name]
            return table.thresholds.master if table.embedder else None

        return evaluation.evaluate(result.hits, answered, mark_of)

    def _answered(self, result: SearchResult) -> answering.Answered:
        question = self._wanted.question
        if not result.hits:
            return answering.not_here(question, result.attempts, result.why_empty)
        if not self._asker.down:
            texts = answering.texts_of(self._library, self._tables, result.hits)
            answered = answering.by_model(self._asker, question, result.hits, result.attempts, texts)
            if answered is not None:
                if answered.dropped:
                    self._context.report.warn(f"The model cited {answered.dropped} records that were not found.")
                return answered
        return answering.by_hand(question, result.hits)

    def _keep(self) -> None:
        """The ledger, and the rewrites that worked, for the completing transaction."""
        catalog = self._library.catalog
        rows = kept.rows(self._ledger, self._context.job.id, self._context.job.tenant_id, self._info.id)
        self._context.report.effect(catalog.recording(rows))
        for rewrite in kept.rewrites(self._ledger):
            self._context.report.effect(catalog.remembering(self._info.id, rewrite))

    def _progress(self, node: str, message: str, **data: JsonValue) -> None:
        self._say("progress", node=node, message=message, **data)

    def _say(self, type: str, **data: JsonValue) -> None:
        self._context.report.event(type, **data)


def _tables_of(why: Sequence[Evidence]) -> set[str]:
    return {item.query.table for item in why}
