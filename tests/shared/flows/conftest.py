from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from shared.db import connect


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, connections=16)
    yield engine
    engine.dispose()
