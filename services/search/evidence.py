"""Why a table came back empty, without a model: the number of hits with each constraint dropped in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.search.engine import Engine
from services.search.query import Query
from services.search.thresholds import LOWEST
from shared.contracts.search import WhyEmpty

THRESHOLD = "score_threshold"


@dataclass(frozen=True)
class HitsWithout:
    """What an empty query would find without one of its constraints."""

    constraint: str  #: a field's name, or ``score_threshold``
    hits: int


@dataclass(frozen=True)
class Evidence:
    """Why one query found nothing."""

    query: Query
    without: tuple[HitsWithout, ...]
    at_floor: int  #: hits with the same filters and the threshold as low as relaxing may go
    at_floor_unfiltered: int
    literal_match: bool  #: whether a record holds every word of the query but is not similar enough

    @property
    def filters_alone(self) -> tuple[str, ...]:
        """Fields whose filter alone, at the same threshold, kept every record out; the one with most hits first."""
        alone = [part for part in self.without if part.constraint != THRESHOLD and part.hits > 0]
        return tuple(part.constraint for part in sorted(alone, key=lambda part: -part.hits))

    @property
    def threshold_alone(self) -> bool:
        """Whether a chosen threshold, not the table's own, kept every record out."""
        return self.query.threshold is not None and self.at_floor > 0


def floor(engine: Engine, query: Query) -> float:
    """The lowest threshold that relaxing may use; never above the query's own."""
    return min(engine.threshold(query), max(LOWEST, engine.calibrated(query).floor))


def gather(engine: Engine, query: Query) -> Evidence:
    """For a query that found nothing. Raises: what the engine raises."""
    threshold = engine.threshold(query)
    fields = dict.fromkeys(name for name, _ in query.filters)
    without = [HitsWithout(name, engine.count(without_filters(query, [name]), threshold)) for name in fields]
    without.append(HitsWithout(THRESHOLD, engine.count(query, None)))
    lowest = floor(engine, query)
    at_floor = engine.count(query, lowest) if lowest < threshold else 0
    unfiltered = engine.count(replace(query, filters=()), lowest) if query.filters else at_floor
    # A chosen threshold is the caller's to lower, so a literal match does not pass it.
    literal_match = query.threshold is None and bool(engine.run(literal(query)))
    return Evidence(query, tuple(without), at_floor, unfiltered, literal_match)


def literal(query: Query) -> Query:
    """The same words, to be found as they are in whole records."""
    return replace(query, mode="master", literal=True, label="relaxed")


def without_filters(query: Query, names: Sequence[str]) -> Query:
    return replace(query, filters=tuple(part for part in query.filters if part[0] not in names))


def why_empty(evidence: Sequence[Evidence]) -> list[WhyEmpty]:
    """As the result shows it: one entry per table and constraint."""
    most: dict[tuple[str, str], int] = {}
    for entry in evidence:
        for part in entry.without:
            key = (entry.query.table, part.constraint)
            most[key] = max(most.get(key, 0), part.hits)
    return [WhyEmpty(table=table, constraint=name, hits_without=hits) for (table, name), hits in most.items()]
