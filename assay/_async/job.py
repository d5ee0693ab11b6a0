"""A job as a future."""

from __future__ import annotations

import io
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.calls import files, jobs
from assay.errors import JobTimeout
from assay.events import JobEvent
from assay.submits import result_of, table_file

if TYPE_CHECKING:
    from assay._async.connection import AsyncConnection
    from shared.contracts.jobs import EventPage, JobState, JobView
    from shared.contracts.models import LlmCalls

Result = TypeVar("Result")


class AsyncJob(Generic[Result]):
    """``view`` is the job as it was last heard of."""

    def __init__(self, connection: AsyncConnection, view: JobView) -> None:
        self._connection = connection
        self.view = view

    @property
    def id(self) -> str:
        return self.view.id

    @property
    def state(self) -> JobState:
        return self.view.state

    @property
    def done(self) -> bool:
        return self.view.state.terminal

    async def refresh(self) -> JobView:
        self.view = await self._connection.send(jobs.get(self.id))
        return self.view

    async def wait(self, timeout: float | None = None) -> JobView:
        """Return when the job has ended, successfully or not. Raises: JobTimeout; the job continues."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.done:
            left = None if deadline is None else deadline - time.monotonic()
            if left is None or left > 0:
                async for _ in self._connection.events(self.id, timeout=left):
                    pass
            view = await self.refresh()
            if not view.state.terminal and deadline is not None and time.monotonic() >= deadline:
                raise JobTimeout(self.id, timeout or 0)
        return self.view

    async def result(self, timeout: float | None = None) -> Result:
        """Return the result; ``timeout=0`` checks once without waiting. Raises: JobFailed, JobTimeout."""
        return result_of(await self.wait(timeout))  # type: ignore[no-any-return]

    def events(self, after: int = 0, timeout: float | None = None) -> AsyncIterator[JobEvent]:
        """Yield events as they happen, from the beginning or after an event's number."""
        return self._connection.events(self.id, after, timeout)

    async def events_page(self, after: int = 0, types: Sequence[str] = (), limit: int | None = None) -> EventPage:
        """Return up to 1,000 past events, only of ``types`` when any are given."""
        return await self._connection.send(jobs.events_page(self.id, after, types, limit))

    async def cancel(self) -> JobView:
        self.view = await self._connection.send(jobs.cancel(self.id))
        return self.view

    async def replay(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        budget: Mapping[str, float | None] | None = None,
    ) -> AsyncJob[Result]:
        """Submit a new job with the same input, except for the arguments given here."""
        return AsyncJob(self._connection, await self._connection.send(jobs.replay(self.id, input, model, budget)))

    async def llm_calls(self) -> LlmCalls:
        return await self._connection.send(jobs.llm_calls(self.id))

    async def frame(self, timeout: float | None = None) -> Any:
        """Return the result's table as a pandas frame (needs pandas and pyarrow)."""
        content = await self._connection.send(files.content(table_file(await self.wait(timeout))))
        import pandas  # noqa: PLC0415

        return pandas.read_parquet(io.BytesIO(content))

    async def stream_rows(self, timeout: float | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of the result's table as they arrive; only one row is held in memory.

        Dates and numbers of many digits are texts, as in JSON lines. Raises: JobFailed, JobTimeout, APIError.
        """
        table_file(await self.wait(timeout))
        async for line in self._connection.lines(jobs.rows_path(self.id)):
            yield json.loads(line)
