"""Relaxing by evidence, without a model: filters before facets and tables, scores last and never below the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.search.engine import Engine
from services.search.evidence import Evidence, floor, literal, without_filters
from services.search.query import MOST_HITS, Query
from services.search.words import has_code


def caused_alone(engine: Engine, evidence: Sequence[Evidence]) -> list[Query]:
    """The queries that one constraint alone made empty, without it: a filter, a chosen threshold, a code's cosine."""
    out = []
    for item in evidence:
        if item.filters_alone:
            out.append(replace(without_filters(item.query, item.filters_alone[:1]), label="relaxed"))
        elif item.threshold_alone:
            out.append(lowered(engine, item.query))
        elif item.stands and has_code(item.query.text):
            out.append(literal(item.query))  # no other wording says the same
    return out


def first_step(engine: Engine, evidence: Sequence[Evidence]) -> list[Query]:
    """Without the one cause, if there is one; else at the floor, without filters if they are what bars it."""
    alone = {query.table: query for query in caused_alone(engine, evidence)}
    out = []
    for item in evidence:
        if item.query.table in alone:
            out.append(alone.pop(item.query.table))
        elif item.filters_alone or item.threshold_alone:
            continue  # another query of the same table has taken its turn
        else:
            out.append(relaxed(engine, item))
    return out


def relaxed(engine: Engine, item: Evidence) -> Query:
    """Lower threshold, wider limit; without the filters when only that helps, and by its words when nothing does."""
    if item.stands and not item.at_floor:
        return literal(item.query)
    keep = item.at_floor > 0 or item.at_floor_unfiltered == 0
    query = item.query if keep else replace(item.query, filters=())
    return lowered(engine, query)


def second_step(engine: Engine, evidence: Sequence[Evidence], untried: Sequence[str], text: str) -> list[Query]:
    """Whole records instead of facets, no filters, the floor; and other tables, which must match as well as usual."""
    out = []
    for item in evidence:
        chosen = item.query.threshold
        # A threshold below the floor was somebody's wish; one at the floor was ours, and master has a floor of its own.
        kept = chosen if chosen is not None and chosen < engine.mark(item.query).floor else None
        out.append(lowered(engine, replace(item.query, mode="master", filters=(), threshold=kept)))
    limit = max((item.query.limit for item in evidence), default=10)
    out.extend(Query(table, "master", text, limit, None, (), label="pivoted") for table in untried)
    return out


def lowered(engine: Engine, query: Query) -> Query:
    """The threshold at the floor (it never rises) and twice the limit (it never falls)."""
    return replace(query, threshold=floor(engine, query), limit=_wider(query.limit), label="relaxed", literal=False)


def _wider(limit: int) -> int:
    return max(limit, min(limit * 2, MOST_HITS))
