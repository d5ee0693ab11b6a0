"""The gateway's engines: asynchronous, which costs an import that no worker has to pay."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from shared.db import CONNECT, READ_JSON, with_driver


def connect_async(url: str, pool_size: int = 10, *, autocommit: bool = False) -> AsyncEngine:
    """An engine; with ``autocommit`` every statement stands alone, and nothing is reset after use."""
    return create_async_engine(
        with_driver(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=1,
        connect_args=CONNECT,
        json_deserializer=READ_JSON,
        isolation_level="AUTOCOMMIT" if autocommit else "READ COMMITTED",
        pool_reset_on_return=None if autocommit else "rollback",
    )
