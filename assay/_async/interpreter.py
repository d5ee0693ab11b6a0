"""A code interpreter for an agent: calls in one session, each of which finds what those before it have left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.calls import files

if TYPE_CHECKING:
    from assay._async.client import AsyncClient
    from shared.contracts.execute import ExecuteResult


class AsyncInterpreter:
    """One session in the sandbox; a call that fails, or hits a limit, does not end it."""

    def __init__(self, client: AsyncClient, language: str = "python", **fields: Any) -> None:
        """``fields``: what every call shares, such as ``limits={"wall_seconds": 60}``."""
        self._client = client
        self._fields = {**fields, "language": language, "session": True}
        self.job_id: str | None = None  #: of the last call; a session is continued from there

    async def run(
        self, code: str, files: Mapping[str, files.Content] | None = None, timeout: float = 300
    ) -> ExecuteResult:
        """Run code; ``files``: path in the sandbox -> content. Raises: JobFailed, JobTimeout, APIError."""
        job = await self._client.execute(code, files=files, wait=30, continues=self.job_id, **self._fields)
        result = await job.result(timeout)
        self.job_id = job.id
        return result
