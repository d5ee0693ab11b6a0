"""Relaxing by evidence, without a model: filters before facets and tables, thresholds last, never below the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.search.queries.query import MAX_HITS, Query
from services.search.retrieval.engine import SearchEngine
from services.search.tables.thresholds import LOWEST
from services.search.tables.words import has_code
from shared.contracts.search import WhyEmpty

THRESHOLD = "score_threshold"


@dataclass(frozen=True)
class HitsWithout:
    """What an empty query would find without one of its constraints."""

    constraint: str  #: a field's name, or ``score_threshold``
    hits: int
    suggestions: tuple[str, ...] = ()  #: values like the filter's, which no record has


@dataclass(frozen=True)
class QueryEvidence:
    """Why one query found nothing."""

    query: Query
    without: tuple[HitsWithout, ...]
    at_floor: int  #: hits with the same filters and the threshold as low as relaxing may go
    at_floor_unfiltered: int  #: and without the filters that may be dropped
    closed: bool  #: no record is within the filters that must hold, or in the table: no other wording can help
    literal_match: bool  #: whether a record holds every word of the query but is not similar enough

    @property
    def filters_alone(self) -> tuple[str, ...]:
        """Fields whose filter alone, at the same threshold, kept every record out; the one with most hits first."""
        kept = {THRESHOLD, *(name for name, _ in self.query.hard)}
        alone = [part for part in self.without if part.constraint not in kept and part.hits > 0]
        return tuple(part.constraint for part in sorted(alone, key=lambda part: -part.hits))

    @property
    def threshold_alone(self) -> bool:
        """Whether a chosen threshold, not the table's own, kept every record out."""
        return self.query.threshold is not None and self.at_floor > 0


def floor(engine: SearchEngine, query: Query) -> float:
    """Return the lowest threshold that relaxing may use; never above the query's own."""
    return min(engine.threshold(query), max(LOWEST, engine.calibrated(query).floor))


def gather(engine: SearchEngine, query: Query) -> QueryEvidence:
    """Gather evidence for a query that found nothing. Raises: the engine's errors."""
    threshold = engine.threshold(query)
    fields = dict.fromkeys(name for name, _ in query.filters)
    without = [
        HitsWithout(name, engine.count(without_filters(query, [name]), threshold), engine.suggestions(query, name))
        for name in fields
    ]
    without.append(HitsWithout(THRESHOLD, engine.count(query, None)))
    lowest = floor(engine, query)
    at_floor = engine.count(query, lowest) if lowest < threshold else 0
    unfiltered = engine.count(replace(query, filters=query.hard), lowest) if query.filters else at_floor
    # A chosen threshold is the caller's to lower, so a literal match does not pass it.
    literal_match = query.threshold is None and bool(engine.run(literal(query)))
    closed = engine.count(replace(query, filters=query.hard), None) == 0
    return QueryEvidence(query, tuple(without), at_floor, unfiltered, closed, literal_match)


def literal(query: Query) -> Query:
    """Return the same words, to be found as they are in whole records."""
    return replace(query, mode="master", literal=True, label="relaxed")


def without_filters(query: Query, names: Sequence[str]) -> Query:
    return replace(query, filters=tuple(part for part in query.filters if part[0] not in names))


def why_empty(evidence: Sequence[QueryEvidence]) -> list[WhyEmpty]:
    """Return the evidence in the result's form: one entry per table and constraint."""
    most: dict[tuple[str, str], HitsWithout] = {}
    for entry in evidence:
        for part in entry.without:
            key = (entry.query.table, part.constraint)
            if key not in most or most[key].hits < part.hits:
                most[key] = part
    return [
        WhyEmpty(table=table, constraint=name, hits_without=part.hits, suggestions=list(part.suggestions))
        for (table, name), part in most.items()
    ]


def single_cause(engine: SearchEngine, evidence: Sequence[QueryEvidence]) -> list[Query]:
    """Return queries that one constraint alone made empty, without it: a filter, a chosen threshold, a code's
    cosine.
    """
    queries = []
    for entry in evidence:
        if entry.filters_alone:
            queries.append(replace(without_filters(entry.query, entry.filters_alone[:1]), label="relaxed"))
        elif entry.threshold_alone:
            queries.append(lowered(engine, entry.query))
        elif entry.literal_match and has_code(entry.query.text):
            queries.append(literal(entry.query))  # a code cannot be reworded
    return queries


def first_step(engine: SearchEngine, evidence: Sequence[QueryEvidence]) -> list[Query]:
    """Drop the single cause, if there is one; else search at the floor, without filters that excluded everything."""
    by_table = {query.table: query for query in single_cause(engine, evidence)}
    queries = []
    for entry in evidence:
        if entry.query.table in by_table:
            queries.append(by_table.pop(entry.query.table))
        elif entry.filters_alone or entry.threshold_alone:
            continue  # another query of the same table is relaxed instead
        else:
            queries.append(relaxed(engine, entry))
    return queries


def relaxed(engine: SearchEngine, entry: QueryEvidence) -> Query:
    """Return a lower threshold and a wider limit; no filters when only that helps; the literal words when nothing
    does.
    """
    if entry.literal_match and not entry.at_floor:
        return literal(entry.query)
    keep_filters = entry.at_floor > 0 or entry.at_floor_unfiltered == 0
    query = entry.query if keep_filters else replace(entry.query, filters=entry.query.hard)
    return lowered(engine, query)


def second_step(engine: SearchEngine, evidence: Sequence[QueryEvidence], untried: Sequence[Query]) -> list[Query]:
    """Whole records instead of facets, only filters that must hold, the floor; and ``untried`` tables, as they are."""
    queries = []
    for entry in evidence:
        chosen = entry.query.threshold
        # A threshold below the floor was the caller's choice. One at the floor came from relaxing facets, and master
        # search has a separate floor.
        kept = chosen if chosen is not None and chosen < engine.calibrated(entry.query).floor else None
        queries.append(lowered(engine, replace(entry.query, mode="master", filters=entry.query.hard, threshold=kept)))
    limit = max((entry.query.limit for entry in evidence), default=10)
    queries.extend(replace(query, limit=limit) for query in untried)
    return queries


def lowered(engine: SearchEngine, query: Query) -> Query:
    """Return the threshold at the floor (never higher than before) and twice the limit (never lower than before)."""
    return replace(query, threshold=floor(engine, query), limit=_wider(query.limit), label="relaxed", literal=False)


def _wider(limit: int) -> int:
    return max(limit, min(limit * 2, MAX_HITS))
