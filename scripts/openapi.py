"""The OpenAPI document of this tree's gateway, without a server."""

from __future__ import annotations

from typing import Any

from services.gateway.app import create_app
from services.gateway.settings import Settings
from shared.settings import StoreSettings


def openapi_document() -> dict[str, Any]:
    """Return the document as a running gateway serves it."""
    stores = StoreSettings(database_url="postgresql://x", redis_url="redis://x", blob_url="file:///x", qdrant_url=None)
    return create_app(Settings(stores=stores)).openapi()
