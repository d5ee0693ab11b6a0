"""Which store an installation uses."""

from __future__ import annotations

from pathlib import Path

from qdrant_client import QdrantClient

from services.search.store.client import ClientStore
from services.search.store.edge import EdgeStore
from services.search.store.port import Store


def open_store(qdrant_url: str | None, folder: Path, api_key: str | None = None, timeout: int = 10) -> Store:
    """A Qdrant server when there is a URL, else the embedded engine in the folder.

    Raises: SearchStoreUnavailable when another process owns the folder.
    """
    if qdrant_url:
        client = QdrantClient(url=qdrant_url, api_key=api_key, timeout=timeout, check_compatibility=False)
        return ClientStore(client, remote=True)
    return EdgeStore(folder)


def open_local() -> ClientStore:
    """The client's own local mode, in memory: for tests and small trials."""
    return ClientStore(QdrantClient(location=":memory:"), remote=False)
