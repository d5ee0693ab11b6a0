"""Carries out the queries of one attempt, each with a status of its own: an outage is never an empty result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event as Flag

import structlog

from services.search.engine import Engine
from services.search.ledger import Executed, Status
from services.search.library import TablesOf
from services.search.query import Query
from shared.errors import EmbeddingUnavailable, JobCancelled, SearchStoreUnavailable

log = structlog.get_logger(__name__)
#: What says nothing about the collection.
OUTAGES = (SearchStoreUnavailable, EmbeddingUnavailable)
_AT_ONCE = 8


@dataclass(frozen=True)
class Runner:
    engine: Engine
    tables: TablesOf
    concurrent: bool  #: whether the store gains from several queries at once
    cancelled: Flag

    def run(self, queries: Sequence[Query]) -> list[Executed]:
        """Raises: JobCancelled; EmbeddingChanged; what a filter that does not fit raises."""
        for name in dict.fromkeys(query.table for query in queries):
            self.tables.ready(name)
        if len(queries) <= 1 or not self.concurrent:
            return [self._run(query) for query in queries]
        with ThreadPoolExecutor(min(len(queries), _AT_ONCE)) as pool:
            return list(pool.map(self._run, queries))

    def _run(self, query: Query) -> Executed:
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
            return Executed(query, "error", (), threshold, fault.code, time.monotonic() - began)
        status: Status = "ok" if matches else "empty"
        return Executed(query, status, matches, threshold, None, time.monotonic() - began)
