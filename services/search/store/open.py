"""Opens the store that the settings name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from services.search.store.edge import EdgeStore
from services.search.store.port import VectorStore

if TYPE_CHECKING:
    from services.search.store.client import ClientStore

log = structlog.get_logger(__name__)


def open_store(
    qdrant_url: str | None,
    folder: Path,
    api_key: str | None = None,
    timeout: int = 10,
    *,
    replicas: int = 1,
    shards: int = 1,
) -> VectorStore:
    """Open a Qdrant server if a URL is given, else the embedded engine in the folder.

    Raises: SearchStoreUnavailable when another process owns the folder.
    """
    if qdrant_url:
        # Importing the client takes a third of the worker's start, and only installations with a server need it.
        from qdrant_client import QdrantClient  # noqa: PLC0415

        from services.search.store.client import ClientStore  # noqa: PLC0415

        if api_key and qdrant_url.startswith("http:"):
            log.warning("qdrant_key_in_clear", advice="use https in QDRANT_URL unless the network is your own")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the client warns of the same
            client = QdrantClient(url=qdrant_url, api_key=api_key, timeout=timeout, check_compatibility=False)
        return ClientStore(client, remote=True, replicas=replicas, shards=shards)
    return EdgeStore(folder)


def open_local() -> ClientStore:
    """Return the client's local mode, in memory: for tests and trials."""
    from qdrant_client import QdrantClient  # noqa: PLC0415

    from services.search.store.client import ClientStore  # noqa: PLC0415

    return ClientStore(QdrantClient(location=":memory:"), remote=False)
