"""Reflect and replan: a model, or evidence alone, decides what to search next. Nothing is searched here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from services.search.llm.chat import StructuredChat
from services.search.llm.replies import ReflectReply, friendly, stock_message
from services.search.planning import relax
from services.search.planning.first_plan import (
    MAX_QUERIES,
    KnownTables,
    described,
    filters_elsewhere,
    has_fields,
    query_of,
    recent,
    too_many,
)
from services.search.planning.ledger import Ledger, SearchAttempt
from services.search.planning.relax import QueryEvidence
from services.search.queries.query import Label, Query, Strategy
from services.search.retrieval.engine import SearchEngine
from services.search.tables.catalog import Rewrite
from services.search.tables.library import OpenTable
from services.search.tables.words import Words
from shared.contracts.search import Hit, SearchInput
from shared.llm.chat import ChatMessage

_ONE_CAUSE = "One constraint alone kept every record out; it is relaxed."
_CODE_MATCHES = "A code of the question is in records that are not similar enough; it is taken as it is."


@dataclass(frozen=True)
class Replan:
    """What to search next, and why."""

    strategy: Strategy
    queries: tuple[Query, ...]
    reasoning: str
    user_message: str
    otherwise: tuple[Query, ...] = ()  #: for tables that ``queries`` leave empty, at the last retry


@dataclass(frozen=True)
class Reflector:
    """Plans the next attempt from everything that is known of the search."""

    request: SearchInput
    tables: Mapping[str, OpenTable]
    engine: SearchEngine
    ledger: Ledger
    known: KnownTables
    history: Sequence[ChatMessage]
    rewrites: Callable[[], Sequence[Rewrite]]  #: that worked in earlier searches, the latest first
    warn: Callable[[str], None]  #: receives what was ignored of a model's plan

    def by_cause(self, evidence: Sequence[QueryEvidence]) -> Replan | None:
        """Drop the constraint that alone excluded every record, without a model."""
        queries = self._new(relax.single_cause(self.engine, evidence))
        if not queries:
            return None
        return self._mechanical(queries, _CODE_MATCHES if all(query.literal for query in queries) else _ONE_CAUSE)

    def by_steps(self, evidence: Sequence[QueryEvidence], why: str) -> Replan | None:
        """Relax step by step, without a model; None when nothing is left to relax."""
        if remembered := self._remembered(evidence):
            why = "The wording of an earlier search like this one."
            return Replan("rewrite", remembered, why, stock_message("rewrite"))
        queries: list[Query] = []
        evidence = [entry for entry in evidence if not entry.closed]
        if len(self.ledger.attempts) == 1:
            queries = self._new(relax.first_step(self.engine, evidence))
        if not queries:
            queries = self._new(relax.second_step(self.engine, evidence, self._untried()))
        return self._mechanical(queries[:MAX_QUERIES], why) if queries else None

    def by_model(self, evidence: Sequence[QueryEvidence], chat: StructuredChat, retries_left: int) -> Replan | None:
        """Return None when no model answers, or its plan repeats what was tried.

        Relaxing finds no better hits where a table has weak ones, so there only another wording or table counts.
        """
        question = self._question(evidence, retries_left)
        reply = chat.ask(
            "search.reflect", question, ReflectReply, among=tuple(self.tables), tables=described(self.tables)
        )
        if reply is None:
            return None
        warnings: list[str] = []
        names = self.known.names
        proposed = [
            query_of(each, self.tables, self.request, warnings, names) for each in reply.new_queries[:MAX_QUERIES]
        ]
        chosen = [query for query in proposed if query is not None]
        if len(reply.new_queries) > MAX_QUERIES:
            warnings.append(too_many(len(reply.new_queries)))
        for warning in dict.fromkeys(warnings):
            self.warn(warning)
        if reply.strategy == "relax" or not chosen:
            empty = self.ledger.zero_tables
            queries = [relax.relaxed(self.engine, entry) for entry in evidence if entry.query.table in empty]
        else:
            allowed = [query for query in chosen if self._is_allowed(query, evidence)]
            queries = [self._constrained(query, evidence, reply.strategy) for query in allowed]
        strategy: Strategy = reply.strategy if chosen or reply.strategy == "relax" else "relax"
        new = self._new(queries)
        if not new:
            return None
        return Replan(strategy, tuple(new), reply.reasoning[:2000], friendly(reply.user_message, strategy))

    def last_resort(self, replan: Replan, evidence: Sequence[QueryEvidence]) -> Replan:
        """Return the replan, with the first wording at the floor for tables that it leaves empty: near hits beat
        none.
        """
        near = [entry for entry in evidence if entry.at_floor or entry.at_floor_unfiltered or entry.literal_match]
        planned = {query.identity for query in replan.queries}
        relaxed = self._new([relax.relaxed(self.engine, entry) for entry in near])
        return replace(replan, otherwise=tuple(query for query in relaxed if query.identity not in planned))

    def _untried(self) -> list[Query]:
        """Return the question for tables not searched yet, if nothing at all was found and the filters fit them."""
        if self.ledger.any_match:
            return []
        hard = filters_elsewhere(self.request)
        return [
            Query(name, "master", self.request.question, self.request.limit, None, hard, label="pivoted", hard=hard)
            for name, table in self.tables.items()
            if name not in self.ledger.tables and has_fields(table, hard)
        ]

    def _is_allowed(self, query: Query, evidence: Sequence[QueryEvidence]) -> bool:
        """Empty tables and new ones where the caller's filters can hold; tables that gave hits keep them."""
        if query.table not in self.ledger.tables:
            return has_fields(self.tables[query.table], filters_elsewhere(self.request))
        return query.table in {entry.query.table for entry in evidence}

    def _constrained(self, query: Query, evidence: Sequence[QueryEvidence], strategy: Strategy) -> Query:
        """Return the query with the constraints of the one that it replaces, labelled by what changed."""
        before = [entry.query for entry in evidence if entry.query.table == query.table]
        if not before:
            hard = filters_elsewhere(self.request)
            filters = (*query.filters, *(part for part in hard if part not in query.filters))
            return replace(query, filters=filters, hard=hard, label="pivoted")
        old = before[0]
        same_text = _normalized(query.text) == _normalized(old.text)
        label: Label = "pivoted" if strategy == "pivot" or same_text else "rewritten"
        return replace(query, threshold=old.threshold, cut=old.cut, filters=old.filters, hard=old.hard, label=label)

    def _new(self, queries: Sequence[Query]) -> list[Query]:
        """Return the queries that were never tried, each once; faceted ones become master where there are no facets."""
        tried = set(self.ledger.tried_identities)
        new = []
        for query in queries:
            if query.mode == "faceted" and not self.engine.has_facets(query.table):
                query = replace(query, mode="master")  # noqa: PLW2901
            if query.identity not in tried:
                tried.add(query.identity)
                new.append(query)
        return new

    def _remembered(self, evidence: Sequence[QueryEvidence]) -> tuple[Query, ...]:
        """Rewrites that helped an earlier search with the same wording."""
        known = {(rewrite.table, _normalized(rewrite.wording)): rewrite.rewritten for rewrite in self.rewrites()}
        queries = []
        for entry in evidence:
            better = known.get((entry.query.table, _normalized(entry.query.text)))
            if better is not None:
                queries.append(replace(entry.query, text=better, label="rewritten"))
        return tuple(self._new(queries))

    def _similar(self, evidence: Sequence[QueryEvidence]) -> list[Rewrite]:
        """Rewrites of wordings that share at least half of their words with what was searched."""
        distinct = Words(1.0).distinct
        asked = [distinct(entry.query.text) for entry in evidence]
        worded = [(rewrite, distinct(rewrite.wording)) for rewrite in self.rewrites()]
        return [
            rewrite for rewrite, words in worded if words and any(len(words & mine) * 2 >= len(words) for mine in asked)
        ]

    def _mechanical(self, queries: Sequence[Query], why: str) -> Replan:
        return Replan("mechanical", tuple(queries), why, stock_message("mechanical"))

    def _question(self, evidence: Sequence[QueryEvidence], retries_left: int) -> dict[str, JsonValue]:
        hits = self.ledger.hits()
        summary: dict[str, JsonValue] = {table: _summary(hits.get(table, [])) for table in self.ledger.tables}
        planned: list[JsonValue] = [
            outcome.query.planned().model_dump(mode="json") for outcome in self.ledger.attempts[-1].outcomes
        ]
        zero: list[JsonValue] = list(self.ledger.zero_tables)
        return {
            "user_message": self.request.question,
            "history": recent(self.history),
            "planned_queries": planned,
            "results_summary": summary,
            "zero_result_tables": zero,
            "retry_count": len(self.ledger.attempts) - 1,
            "retries_left": retries_left,
            "attempts": [_attempt_view(attempt) for attempt in self.ledger.attempts],
            "tables": self.known.sampled(self.tables),
            "evidence": [self._evidence_view(entry) for entry in evidence],
            "rewrites_that_worked_before": [
                {"table": rewrite.table, "wording": rewrite.wording[:200], "rewritten": rewrite.rewritten[:200]}
                for rewrite in self._similar(evidence)[:10]
            ],
        }

    def _evidence_view(self, entry: QueryEvidence) -> JsonValue:
        closest = self.engine.nearest(entry.query)
        return {
            "table": entry.query.table,
            "results_without": {part.constraint: part.hits for part in entry.without},
            "results_when_relaxed": entry.at_floor,
            "closest_records": [{"name": near.name, "similarity": near.similarity} for near in closest],
        }


def _summary(hits: Sequence[Hit]) -> str:
    weak = ", all of them weak" if hits and all(hit.weak for hit in hits) else ""
    return f"{len(hits)} results{weak}"


def _normalized(text: str) -> str:
    return " ".join(text.lower().split()).rstrip("?!. ")


def _attempt_view(attempt: SearchAttempt) -> JsonValue:
    tried: list[JsonValue] = [
        {"table": outcome.query.table, "query_text": outcome.query.text[:300]} for outcome in attempt.outcomes
    ]
    return {"strategy": attempt.strategy, "queries": tried}
