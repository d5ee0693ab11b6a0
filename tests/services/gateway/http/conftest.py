"""The API document, made once for all tests that read it."""

from __future__ import annotations

from typing import Any

import pytest

from services.gateway.app import create_app
from shared.settings import StoreSettings
from tests.services.gateway.conftest import settings_of


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    stores = StoreSettings(database_url="postgresql://x", redis_url="redis://x", blob_url="file:///x", qdrant_url=None)
    return create_app(settings_of(stores)).openapi()
