from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from shared.db import connect


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, pool_size=8)
    yield engine
    engine.dispose()
