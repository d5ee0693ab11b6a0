"""One planned query, and its identity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from shared.contracts.search import Filters, PlannedQuery

Mode = Literal["faceted", "master"]
Label = Literal["exact", "relaxed", "rewritten", "pivoted"]
Strategy = Literal["initial", "relax", "rewrite", "pivot", "mechanical"]
MAX_HITS = 100
LONGEST_TEXT = 8000


@dataclass(frozen=True)
class Query:
    """What is searched in one table."""

    table: str
    mode: Mode
    text: str
    limit: int
    threshold: float | None  #: None: the table's own
    filters: tuple[tuple[str, JsonValue], ...]  #: all must hold; a field may occur twice
    label: Label = "exact"  #: of the hits that it finds
    literal: bool = False  #: only records that hold every word of the text, however similar they are
    cut: bool = False  #: the threshold was chosen, so nothing below it is listed, not even as weak
    hard: tuple[tuple[str, JsonValue], ...] = ()  #: those of the filters that no retry drops
    by_model: bool = False  #: a model worded it

    @property
    def merged(self) -> Filters:
        """The filters as one object; several filters of one name are combined by ``and``."""
        names = [name for name, _ in self.filters]
        if len(set(names)) == len(names):
            return {name: deepcopy(value) for name, value in self.filters}
        return {"and": [{name: deepcopy(value)} for name, value in self.filters]}

    @property
    def identity(self) -> str:
        """Equal for queries that find the same; without the limit, since only empty queries are compared."""
        text = " ".join(self.text.lower().split())
        threshold = None if self.threshold is None else round(self.threshold, 4)
        return json.dumps([self.table, self.mode, text, threshold, sorted(map(str, self.filters)), self.literal])

    def planned(self) -> PlannedQuery:
        return PlannedQuery(
            table=self.table,
            search_mode=self.mode,
            query_text=self.text,
            limit=self.limit,
            score_threshold=self.threshold,
            filters=self.merged,
        )


def combined(*filters: Mapping[str, JsonValue]) -> tuple[tuple[str, JsonValue], ...]:
    """Combine filters of several sources by AND; duplicates are dropped."""
    joined: list[tuple[str, JsonValue]] = []
    for source in filters:
        joined.extend((name, deepcopy(value)) for name, value in source.items() if (name, value) not in joined)
    return tuple(joined)
