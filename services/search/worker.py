"""The search worker: search, ingest and the reading of records, on one store."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import structlog
from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from services.search.embed.models import EmbeddingModels, RemoteAccess
from services.search.ingest import Ingest
from services.search.listing import Stored
from services.search.search import Search
from services.search.settings import EmbeddingServer, QdrantSettings, SearchSettings
from services.search.store.open import open_store
from services.search.store.port import VectorStore
from services.search.tables.catalog import SqlCatalog
from services.search.tables.library import Library
from shared.errors import AssayError, SearchStoreUnavailable
from shared.jobs.worker import Worker, open_worker
from shared.plugins import load_plugins
from shared.settings import PluginSettings

log = structlog.get_logger(__name__)
#: How long a worker that is being replaced may take to finish its jobs.
_HANDOVER_SECONDS = 30.0
_FIRST_ROLE = "search.plan"  # of the models that a search calls
_OPENAI = "https://api.openai.com/v1"
_KEYWORDS_ONLY = "no embedding model is installed, so tables are searched by keywords only"


def main() -> None:
    load_plugins(PluginSettings().modules)
    settings, qdrant = SearchSettings(), QdrantSettings()
    try:
        store = _open(settings, qdrant)
    except SearchStoreUnavailable as fault:
        refused: Mapping[str, JsonValue] = {"unavailable": fault.detail}
        open_worker("search", facts=lambda: refused).stand_by(fault.detail)
        return
    cache = settings.home / "cache" / "embedding"
    models = EmbeddingModels(settings.embedding, cache, _remote(EmbeddingServer()), settings.embedding_threads)
    worker = open_worker("search", facts=lambda: _facts(models))
    catalog = SqlCatalog(worker.engine)
    library = Library(store, models, catalog, settings, cache)
    threading.Thread(target=_warm_up, args=(library, catalog, worker), name="warm-up", daemon=True).start()
    worker.serve("search", Search(library))
    worker.serve("ingest", Ingest(library))
    worker.serve("records", Stored(library))
    try:
        worker.run()
    finally:
        store.close()


def _open(settings: SearchSettings, qdrant: QdrantSettings) -> VectorStore:
    """Open the store. Raises: SearchStoreUnavailable while another process owns the embedded store."""
    until = time.monotonic() + _HANDOVER_SECONDS
    while True:
        try:
            return open_store(
                qdrant.url,
                settings.home / "search",
                qdrant.api_key,
                replicas=qdrant.replication_factor,
                shards=qdrant.shard_number,
            )
        except SearchStoreUnavailable as fault:
            if time.monotonic() >= until:
                raise
            log.warning("store_owned", detail=fault.detail)
            time.sleep(1)


def _remote(server: EmbeddingServer) -> RemoteAccess | None:
    """Return where to embed remotely; None without a server or key (a self-hosted server needs no key)."""
    if not server.base_url and not server.api_key:
        return None
    return RemoteAccess(server.base_url or _OPENAI, server.api_key)


def _facts(models: EmbeddingModels) -> Mapping[str, JsonValue]:
    """Return the facts that the gateway shows about this worker, with the default embedding of collections."""
    facts: dict[str, JsonValue] = {"embedding": models.default}
    if models.default == "none":
        facts["degraded"] = {"search": _KEYWORDS_ONLY, "ingest": _KEYWORDS_ONLY}
    return facts


def _warm_up(library: Library, catalog: SqlCatalog, worker: Worker) -> None:
    """Load the models before the first question, and remove the points of collections deleted meanwhile.

    While there is no collection nobody can ask one, and the model would hold 130 MB for nothing.
    """
    try:
        embedder = library.models.named(None) if catalog.has_any() else None
        if embedder is not None:
            library.probes(embedder)
        worker.load_model(_FIRST_ROLE)
        library.sweep()
    except (AssayError, SQLAlchemyError) as fault:
        log.warning("warm_up_failed", reason=type(fault).__name__)
