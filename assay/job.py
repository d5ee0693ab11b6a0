"""A job as a future."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.calls import files, jobs
from assay.errors import APIError, JobFailed, JobTimeout
from assay.events import JobEvent

if TYPE_CHECKING:
    from assay.client import Client
    from shared.contracts.jobs import JobState, JobView
    from shared.contracts.models import LlmCalls

Result = TypeVar("Result")


class Job(Generic[Result]):
    """``view`` is the job as it was last heard of."""

    def __init__(self, client: Client, view: JobView) -> None:
        self._client = client
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

    def refresh(self) -> JobView:
        self.view = self._client.send(jobs.get(self.id))
        return self.view

    def wait(self, timeout: float | None = None) -> JobView:
        """Return when the job has ended, well or not. Raises: JobTimeout; the job goes on."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.done:
            left = None if deadline is None else deadline - time.monotonic()
            if left is None or left > 0:
                for _ in self._client.events(self.id, timeout=left):
                    pass
            if not self.refresh().state.terminal and deadline is not None and time.monotonic() >= deadline:
                raise JobTimeout(self.id, timeout or 0)
        return self.view

    def result(self, timeout: float | None = None) -> Result:
        """The result; ``timeout=0`` only looks. Raises: JobFailed, JobTimeout."""
        return result_of(self.wait(timeout))  # type: ignore[no-any-return]

    def events(self, after: int = 0, timeout: float | None = None) -> Iterator[JobEvent]:
        """What happens, as it happens, from the beginning or after an event's number."""
        return self._client.events(self.id, after, timeout)

    def cancel(self) -> JobView:
        self.view = self._client.send(jobs.cancel(self.id))
        return self.view

    def replay(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        budget: Mapping[str, float | None] | None = None,
    ) -> Job[Result]:
        """A new job with the same input, but for what is given here."""
        return Job(self._client, self._client.send(jobs.replay(self.id, input, model, budget)))

    def llm_calls(self) -> LlmCalls:
        return self._client.send(jobs.llm_calls(self.id))

    def frame(self, timeout: float | None = None) -> Any:
        """The result's table as a pandas frame (pandas and pyarrow have to be installed)."""
        content = self._client.send(files.content(table_file(self.wait(timeout))))
        import pandas  # noqa: PLC0415

        return pandas.read_parquet(io.BytesIO(content))


def result_of(view: JobView) -> Any:
    """The result as its kind's contract has it. Raises: JobFailed."""
    from shared.contracts.kinds import KINDS  # noqa: PLC0415

    if view.state.value != "succeeded":
        raise JobFailed(view)
    return KINDS[view.kind].result.model_validate(view.result)


def table_file(view: JobView) -> str:
    """The Parquet file of a transform's table. Raises: JobFailed, APIError when the result is no table."""
    result = result_of(view)
    table = getattr(result, "table", None)
    if table is None or table.file_id is None:
        raise APIError(f"the result of job {view.id} is no table")
    return str(table.file_id)
