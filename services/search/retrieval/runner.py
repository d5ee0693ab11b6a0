"""Runs the queries of one attempt. Each outcome has a status, so that an outage is never taken for an empty result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Literal

import structlog

from services.search.queries.query import Query
from services.search.retrieval.engine import Match, SearchEngine
from services.search.tables.library import TablesOf
from shared.contracts.search import ExecutedQuery
from shared.errors import EmbeddingUnavailable, JobCancelled, SearchStoreUnavailable

log = structlog.get_logger(__name__)
#: Errors that say nothing about what the collection holds.
OUTAGES = (SearchStoreUnavailable, EmbeddingUnavailable)
Status = Literal["ok", "empty", "error", "timeout"]
_PARALLEL_QUERIES = 8


@dataclass(frozen=True)
class QueryOutcome:
    """A query that ran."""

    query: Query
    status: Status
    matches: tuple[Match, ...]
    threshold: float | None  #: that was applied
    error: str | None  #: its stable code
    seconds: float

    def view(self) -> ExecutedQuery:
        return ExecutedQuery(
            table=self.query.table,
            search_mode=self.query.mode,
            query_text=self.query.text,
            limit=self.query.limit,
            score_threshold=self.threshold,
            filters=self.query.merged,
            hits=len(self.matches),
            error=self.error,
            ms=round(self.seconds * 1000, 3),
        )


@dataclass(frozen=True)
class QueryRunner:
    engine: SearchEngine
    tables: TablesOf
    concurrent: bool  #: whether the store gains from parallel queries
    cancelled: Event

    def run(self, queries: Sequence[Query]) -> list[QueryOutcome]:
        """Run the queries. Raises: JobCancelled; EmbeddingChanged; UnknownField and InvalidRequest for a wrong
        filter.
        """
        for name in dict.fromkeys(query.table for query in queries):
            self.tables.ready(name)
        if len(queries) <= 1 or not self.concurrent:
            return [self._run(query) for query in queries]
        with ThreadPoolExecutor(min(len(queries), _PARALLEL_QUERIES)) as pool:
            return list(pool.map(self._run, queries))

    def _run(self, query: Query) -> QueryOutcome:
        if self.cancelled.is_set():
            raise JobCancelled("the search was cancelled")
        began = time.monotonic()
        keyword_only = self.tables[query.table].embedder is None
        threshold = None if keyword_only else round(self.engine.threshold(query), 4)
        try:
            if self.engine.by_words(query):
                threshold = None
            matches = tuple(self.engine.run(query))
        except OUTAGES as fault:
            log.warning("query_failed", table=query.table, code=fault.code)
            return QueryOutcome(query, "error", (), threshold, fault.code, time.monotonic() - began)
        status: Status = "ok" if matches else "empty"
        return QueryOutcome(query, status, matches, threshold, None, time.monotonic() - began)
