"""The LLM layer as the gateway uses it: synchronous and quick, so each call has a thread to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from services.gateway.database import database_errors
from services.gateway.settings import Settings
from shared.db import connect
from shared.llm.layer import LlmLayer

Answer = TypeVar("Answer")


class LlmAccess:
    """Chains, providers and their health."""

    def __init__(self, settings: Settings) -> None:
        self._engine = connect(settings.stores.database_url, pool_size=2)
        self.layer = LlmLayer(settings.providers, settings.calls, self._engine, settings.stores.redis_url)

    async def configured(self, role: str | None = None) -> bool:
        """Whether a provider could answer for the role, or for any."""
        return await self.ask(lambda: self.layer.configured(role))

    async def ask(self, work: Callable[[], Answer]) -> Answer:
        """Do it in a thread. Raises: DatabaseUnavailable, and whatever ``work`` raises of ``shared.errors``."""
        with database_errors():
            return await asyncio.to_thread(work)

    def close(self) -> None:
        self._engine.dispose()
