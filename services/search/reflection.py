"""Reflect and replan: a model, or evidence alone, decides what to search next. It only plans; it never searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from services.search import relax
from services.search.ask import Asker
from services.search.catalog import Rewrite
from services.search.engine import Engine
from services.search.evidence import Evidence
from services.search.ledger import Ledger
from services.search.library import OpenTable
from services.search.planning import MOST_QUERIES, described, query_of, too_many
from services.search.query import Label, Query, Strategy
from services.search.replies import ReflectReply
from services.search.wording import friendly, stock
from services.search.words import Words
from shared.contracts.search import SearchInput

_ONE_CAUSE = "One constraint alone kept every record out; it is relaxed."
_CODE_STANDS = "A code that was asked for stands in records that are not similar enough; it is taken as it is."


@dataclass(frozen=True)
class Replan:
    """What to search next, and why."""

    strategy: Strategy
    queries: tuple[Query, ...]
    reasoning: str
    user_message: str
    otherwise: tuple[Query, ...] = ()  #: for tables that these leave empty, when it is the last try


@dataclass(frozen=True)
class Reflector:
    """All that replanning may look at."""

    wanted: SearchInput
    tables: Mapping[str, OpenTable]
    engine: Engine
    ledger: Ledger
    rewrites: Callable[[], Sequence[Rewrite]]  #: that worked before, the latest first
    warn: Callable[[str], None]  #: of what a model wished for in vain

    def by_cause(self, evidence: Sequence[Evidence]) -> Replan | None:
        """Without a model: what one constraint alone kept out."""
        queries = self._new(relax.caused_alone(self.engine, evidence))
        if not queries:
            return None
        return self._mechanical(queries, _CODE_STANDS if all(query.literal for query in queries) else _ONE_CAUSE)

    def by_steps(self, evidence: Sequence[Evidence], why: str) -> Replan | None:
        """Without a model: relax step by step; None when there is nothing left to relax."""
        if remembered := self._remembered(evidence):
            return Replan("rewrite", remembered, "The wording of an earlier search like this one.", stock("rewrite"))
        queries: list[Query] = []
        if len(self.ledger.tries) == 1:
            queries = self._new(relax.first_step(self.engine, evidence))
        if not queries:
            nothing_at_all = not any(item.matches for item in self.ledger.executed)
            untried = [name for name in self.tables if name not in self.ledger.tables] if nothing_at_all else []
            queries = self._new(relax.second_step(self.engine, evidence, untried, self.wanted.question))
        return self._mechanical(queries[:MOST_QUERIES], why) if queries else None

    def by_model(self, evidence: Sequence[Evidence], asker: Asker, retries_left: int) -> Replan | None:
        """None when no model answers, or its plan repeats what was tried."""
        question = self._question(evidence, retries_left)
        reply = asker.ask("search.reflect", question, ReflectReply, tables=described(self.tables))
        if reply is None:
            return None
        warnings: list[str] = []
        wishes = [query_of(wish, self.tables, self.wanted, warnings) for wish in reply.new_queries[:MOST_QUERIES]]
        chosen = [query for query in wishes if query is not None]
        if len(reply.new_queries) > MOST_QUERIES:
            warnings.append(too_many(len(reply.new_queries)))
        for warning in dict.fromkeys(warnings):
            self.warn(warning)
        if reply.strategy == "relax" or not chosen:
            queries = [relax.relaxed(self.engine, item) for item in evidence]
        else:
            allowed = [query for query in chosen if self._may(query, evidence)]
            queries = [self._placed(query, evidence, reply.strategy) for query in allowed]
        strategy: Strategy = reply.strategy if chosen or reply.strategy == "relax" else "relax"
        new = self._new(queries)
        if not new:
            return None
        return Replan(strategy, tuple(new), reply.reasoning[:2000], friendly(reply.user_message, strategy))

    def last_resort(self, replan: Replan, evidence: Sequence[Evidence]) -> Replan:
        """The replan, and the first wording at the floor for what it leaves empty: near hits are better than none."""
        near = [item for item in evidence if item.at_floor or item.at_floor_unfiltered or item.stands]
        planned = {query.identity for query in replan.queries}
        relaxed = self._new([relax.relaxed(self.engine, item) for item in near])
        return replace(replan, otherwise=tuple(query for query in relaxed if query.identity not in planned))

    def _may(self, query: Query, evidence: Sequence[Evidence]) -> bool:
        """Tables that gave hits keep them and are not searched again; empty ones and new ones are."""
        empty = {item.query.table for item in evidence}
        return query.table in empty or query.table not in self.ledger.tables

    def _placed(self, query: Query, evidence: Sequence[Evidence], strategy: Strategy) -> Query:
        """The query under the constraints of the one that it replaces, named for what changed."""
        before = [item.query for item in evidence if item.query.table == query.table]
        if not before:
            return replace(query, label="pivoted")
        old = before[0]
        same_text = _plain(query.text) == _plain(old.text)
        label: Label = "pivoted" if strategy == "pivot" or same_text else "rewritten"
        return replace(query, threshold=old.threshold, filters=old.filters, label=label)

    def _new(self, queries: Sequence[Query]) -> list[Query]:
        """Those that were never tried, each once; faceted search needs facets."""
        tried = set(self.ledger.tried)
        out = []
        for query in queries:
            able = query if query.mode == "master" or self.engine.has_facets(query.table) else _whole(query)
            if able.identity not in tried:
                tried.add(able.identity)
                out.append(able)
        return out

    def _remembered(self, evidence: Sequence[Evidence]) -> tuple[Query, ...]:
        """Rewrites that once helped with the same wording."""
        known = {(item.table, _plain(item.wording)): item.rewritten for item in self.rewrites()}
        queries = []
        for item in evidence:
            better = known.get((item.query.table, _plain(item.query.text)))
            if better is not None:
                queries.append(replace(item.query, text=better, label="rewritten"))
        return tuple(self._new(queries))

    def _similar(self, evidence: Sequence[Evidence]) -> list[Rewrite]:
        """Rewrites of wordings that share at least half of their words with what was searched."""
        distinct = Words(1.0).distinct
        asked = [distinct(item.query.text) for item in evidence]
        worded = [(item, distinct(item.wording)) for item in self.rewrites()]
        return [item for item, words in worded if words and any(len(words & mine) * 2 >= len(words) for mine in asked)]

    def _mechanical(self, queries: Sequence[Query], why: str) -> Replan:
        return Replan("mechanical", tuple(queries), why, stock("mechanical"))

    def _question(self, evidence: Sequence[Evidence], retries_left: int) -> dict[str, JsonValue]:
        hits = self.ledger.hits()
        summary: dict[str, JsonValue] = {table: f"{len(hits.get(table, []))} results" for table in self.ledger.tables}
        planned: list[JsonValue] = [
            item.query.planned().model_dump(mode="json") for item in self.ledger.tries[-1].executed
        ]
        zero: list[JsonValue] = list(self.ledger.zero_tables)
        return {
            "user_message": self.wanted.question,
            "planned_queries": planned,
            "results_summary": summary,
            "zero_result_tables": zero,
            "retry_count": len(self.ledger.tries) - 1,
            "retries_left": retries_left,
            "attempts": [_attempt(done.strategy, [item.query for item in done.executed]) for done in self.ledger.tries],
            "evidence": [self._told(item) for item in evidence],
            "rewrites_that_worked_before": [
                {"table": item.table, "wording": item.wording[:200], "rewritten": item.rewritten[:200]}
                for item in self._similar(evidence)[:10]
            ],
        }

    def _told(self, item: Evidence) -> JsonValue:
        closest = self.engine.nearest(item.query)
        return {
            "table": item.query.table,
            "results_without": {part.constraint: part.hits for part in item.without},
            "results_when_relaxed": item.at_floor,
            "closest_records": [{"name": near.name, "similarity": near.similarity} for near in closest],
        }


def _whole(query: Query) -> Query:
    return replace(query, mode="master")


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip("?!. ")


def _attempt(strategy: Strategy, queries: Sequence[Query]) -> JsonValue:
    tried: list[JsonValue] = [{"table": query.table, "query_text": query.text[:300]} for query in queries]
    return {"strategy": strategy, "queries": tried}
