"""Installations of search to test on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.search.store.edge import EdgeStore
from services.search.store.open import open_local
from tests.services.search.service import HashedWords, MemorySearchService

CONFERENCE = {
    "sessions": {
        "facets": {"session_topic": 1.5, "target_audience": 1.2},
        "fields": {"track": "keyword", "seats": "integer", "start": "datetime"},
    },
    "exhibitors": {"facets": {"services_providing": 1.0}, "fields": {"hall": "keyword"}},
    "people": {
        "facets": {"buying_intent": 1.5, "selling_intent": 1.5, "seeking": 1.2, "offering": 1.2},
        "pair": {"buying_intent": "selling_intent", "seeking": "offering"},
    },
}
SESSIONS = [
    {
        "id": "s1",
        "name": "Scaling Postgres",
        "text": "Partitioning tables and vacuum tuning for large databases.",
        "facets": {"session_topic": "database performance tuning", "target_audience": "database administrators"},
        "fields": {"track": "data", "seats": 100, "start": "2026-05-01T10:00:00Z"},
    },
    {
        "id": "s2",
        "name": "Async Python",
        "text": "Event loops, cancellation and structured concurrency.",
        "facets": {"session_topic": "asynchronous programming", "target_audience": "backend developers"},
        "fields": {"track": "web", "seats": 50, "start": "2026-05-02T10:00:00Z"},
    },
    {
        "id": "s3",
        "name": "Training language models",
        "text": "Adapters, corpora and evaluation of language models.",
        "facets": {"session_topic": "machine learning training", "target_audience": "research engineers"},
        "fields": {"track": "ai", "seats": 200, "start": "2026-05-02T14:00:00Z"},
    },
]
EXHIBITORS = [
    {
        "id": "e1",
        "name": "ModelShip",
        "text": "Deploy models: monitoring, rollout, consulting.",
        "facets": {"services_providing": "deployment consulting"},
        "fields": {"hall": "A"},
    }
]


@pytest.fixture
def empty() -> Iterator[MemorySearchService]:
    """A service with the conference declared and nothing in it (in memory: the stores have their own suite)."""
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", CONFERENCE)
    yield service
    store.close()


@pytest.fixture
def filled(empty: MemorySearchService) -> MemorySearchService:
    """The conference, ingested, to be changed."""
    empty.ingest("sessions", SESSIONS)
    empty.ingest("exhibitors", EXHIBITORS)
    return empty


@pytest.fixture(scope="module")
def _read_only() -> Iterator[MemorySearchService]:
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", CONFERENCE)
    service.ingest("sessions", SESSIONS)
    service.ingest("exhibitors", EXHIBITORS)
    yield service
    store.close()


@pytest.fixture
def service(_read_only: MemorySearchService) -> MemorySearchService:
    """The conference, ingested and ready for queries."""
    _read_only.catalog.kept_rewrites.clear()
    _read_only.catalog.kept_rows.clear()
    return _read_only


@pytest.fixture
def words_only() -> Iterator[MemorySearchService]:
    """The conference where no embedding model is installed."""
    store = open_local()
    service = MemorySearchService(store, None)
    service.catalog.create("tenant", "c", CONFERENCE)
    service.ingest("sessions", SESSIONS)
    service.ingest("exhibitors", EXHIBITORS)
    yield service
    store.close()


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[MemorySearchService]:
    """The conference in the embedded engine."""
    store = EdgeStore(tmp_path / "store")
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", CONFERENCE)
    service.ingest("sessions", SESSIONS)
    service.ingest("exhibitors", EXHIBITORS)
    yield service
    store.close()
