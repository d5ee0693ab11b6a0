"""Relaxing by evidence, without a model: filters before facets and tables, thresholds last, never below the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.search.engine import Engine
from services.search.evidence import Evidence, floor, literal, without_filters
from services.search.query import MOST_HITS, Query
from services.search.words import has_code


def single_cause(engine: Engine, evidence: Sequence[Evidence]) -> list[Query]:
    """Queries that one constraint alone made empty, without it: a filter, a chosen threshold, the cosine of a code."""
    queries = []
    for entry in evidence:
        if entry.filters_alone:
            queries.append(replace(without_filters(entry.query, entry.filters_alone[:1]), label="relaxed"))
        elif entry.threshold_alone:
            queries.append(lowered(engine, entry.query))
        elif entry.literal_match and has_code(entry.query.text):
            queries.append(literal(entry.query))  # a code cannot be reworded
    return queries


def first_step(engine: Engine, evidence: Sequence[Evidence]) -> list[Query]:
    """Without the single cause, where there is one; else at the floor, and without filters if they kept all out."""
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


def relaxed(engine: Engine, entry: Evidence) -> Query:
    """A lower threshold and a wider limit; no filters when only that helps; the literal words when nothing does."""
    if entry.literal_match and not entry.at_floor:
        return literal(entry.query)
    keep_filters = entry.at_floor > 0 or entry.at_floor_unfiltered == 0
    query = entry.query if keep_filters else replace(entry.query, filters=())
    return lowered(engine, query)


def second_step(engine: Engine, evidence: Sequence[Evidence], untried: Sequence[str], text: str) -> list[Query]:
    """Whole records instead of facets, no filters, the floor; and other tables at their usual threshold."""
    queries = []
    for entry in evidence:
        chosen = entry.query.threshold
        # A threshold below the floor was the caller's choice. One at the floor came from relaxing facets, and master
        # search has a floor of its own.
        kept = chosen if chosen is not None and chosen < engine.calibrated(entry.query).floor else None
        queries.append(lowered(engine, replace(entry.query, mode="master", filters=(), threshold=kept)))
    limit = max((entry.query.limit for entry in evidence), default=10)
    queries.extend(Query(table, "master", text, limit, None, (), label="pivoted") for table in untried)
    return queries


def lowered(engine: Engine, query: Query) -> Query:
    """The threshold at the floor (never higher than before) and twice the limit (never lower than before)."""
    return replace(query, threshold=floor(engine, query), limit=_wider(query.limit), label="relaxed", literal=False)


def _wider(limit: int) -> int:
    return max(limit, min(limit * 2, MOST_HITS))
