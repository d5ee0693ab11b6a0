"""The LLM layer as the gateway uses it: synchronous and quick, so each call has a thread to itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from services.gateway.database import database_errors
from services.gateway.settings import Settings
from shared.db import connect
from shared.errors import TooManyRequests
from shared.llm.layer import LlmLayer

Answer = TypeVar("Answer")

_CALLS, _CALLS_OF_TENANT = 8, 2  #: concurrent calls outside of jobs: tests of models, and notes


class LlmAccess:
    """Chains, providers and their health."""

    def __init__(self, settings: Settings) -> None:
        self._threads = ThreadPoolExecutor(_CALLS, "models")
        self._calling: Counter[str] = Counter()
        self._closed = False
        self._engine = connect(settings.stores.database_url, connections=1)
        self.layer = LlmLayer(settings.providers, settings.calls, self._engine, settings.stores.redis_url)
        # The gateway alone may store prompts: what the files of a new release hold reaches the workers from here.
        self._threads.submit(self._disposing, self.layer.prompts.refresh)

    async def configured(self, role: str | None = None) -> bool:
        """Return whether a provider could answer for the role, or for any."""
        return await self.ask(lambda: self.layer.configured(role))

    async def ask(self, work: Callable[[], Answer]) -> Answer:
        """Do it in a thread. Raises: DatabaseUnavailable, and whatever ``work`` raises of ``shared.errors``."""
        with database_errors():
            return await asyncio.to_thread(self._disposing, work)

    async def call(self, tenant: str, work: Callable[[], Answer]) -> Answer:
        """Call a model, which takes seconds: such calls have their own threads, a few per tenant.

        Raises: TooManyRequests, and what ``ask`` raises.
        """
        if self._calling[tenant] >= _CALLS_OF_TENANT or self._calling.total() >= _CALLS:
            raise TooManyRequests(
                f"A tenant may make at most {_CALLS_OF_TENANT} model calls at once outside of jobs.", retry_after=2
            )
        loop = asyncio.get_running_loop()

        def ended() -> None:
            self._calling[tenant] -= 1
            self._calling += Counter()  # without tenants that have no calls

        self._calling[tenant] += 1
        called = self._threads.submit(self._disposing, work)
        # At the end of the call, which a client that goes away does not bring forward.
        called.add_done_callback(lambda _: loop.call_soon_threadsafe(ended))
        with database_errors():
            return await asyncio.wrap_future(called)

    def _disposing(self, work: Callable[[], Answer]) -> Answer:
        """Work that outlives the gateway's end closes what it opened then: a call of a model writes its ledger last."""
        try:
            return work()
        finally:
            if self._closed:
                self._engine.dispose()

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.layer.close()
        self._engine.dispose()
