"""A job for a tool: submitted, followed for as long as the agent waits, and reported while it runs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from assay.calls import files, jobs
from assay.errors import APIConnectionError
from assay.events import JobEvent
from assay.mcp.inputs import SandboxFile
from assay.mcp.problems import ToolProblem

if TYPE_CHECKING:
    from assay import AsyncClient
    from shared.contracts.jobs import JobView

#: Marks what was begun through these tools.
ORIGIN = {"via": "mcp"}
_MAX_MESSAGE = 200

Tell = Callable[[float, str], Awaitable[None]]


@dataclass(frozen=True)
class ToolContext:
    """What a tool may use."""

    client: AsyncClient
    tell: Tell | None  #: reports progress; None without a listener
    folders: Sequence[Path] = ()  #: of this machine, whose files may be read
    stopping: Callable[[], Awaitable[object]] | None = None  #: returns when waiting has to stop


async def submit(
    context: ToolContext,
    kind: str,
    input: Mapping[str, Any],
    wait_seconds: float,
    conversation_id: str | None = None,
) -> JobView:
    """Submit a job; return it when it has ended, or as it is after ``wait_seconds``."""
    options: jobs.SubmitOptions = {"labels": ORIGIN}
    if conversation_id is not None:
        options["conversation_id"] = conversation_id
    if context.tell is None:
        # The server takes whole seconds.
        return (await context.client.submit(kind, input, options, wait=int(wait_seconds) or None)).view
    view = (await context.client.submit(kind, input, options)).view
    await context.tell(0, f"job {view.id} is queued")
    return await follow(context, view, wait_seconds)


async def follow(context: ToolContext, view: JobView, wait_seconds: float) -> JobView:
    """Return the job when it has ended, or after ``wait_seconds``; report its events meanwhile."""
    if view.state.terminal or wait_seconds <= 0:
        return view
    async with anyio.create_task_group() as group:
        if context.stopping is not None:
            group.start_soon(_end_when, context.stopping, group.cancel_scope)
        await _tell_events(context, view.id, wait_seconds)
        group.cancel_scope.cancel()
    return await context.client.jobs.get(view.id)


async def _tell_events(context: ToolContext, job_id: str, seconds: float) -> None:
    with suppress(APIConnectionError):  # the events broke off, the job did not
        async for event in context.client.events(job_id, timeout=seconds):
            if context.tell is not None:
                await context.tell(event.seq, message_of(event))


async def _end_when(stopping: Callable[[], Awaitable[object]], waiting: anyio.CancelScope) -> None:
    await stopping()
    waiting.cancel()


def message_of(event: JobEvent) -> str:
    """Return one line about the event for a person."""
    data = event.data
    outcome = data.get("outcome")
    if isinstance(outcome, dict):
        outcome = " ".join(str(outcome[name]) for name in ("outcome", "message") if outcome.get(name))
    said = {
        "turn_taken": f"turn {data.get('number')}: {outcome}",
        "thinking": str(data.get("message", "")),
        "output": f"{data.get('stream')}: {data.get('text', '')}",
        "block_started": f"block {data.get('block_id')} runs",
        "block_finished": f"block {data.get('block_id')} is done",
    }.get(event.type, event.type.replace("_", " "))
    line = " ".join(said.split())
    return line if len(line) <= _MAX_MESSAGE else f"{line[: _MAX_MESSAGE - 1]}…"


async def placed(context: ToolContext, given: Sequence[SandboxFile]) -> list[dict[str, str]]:
    """Return the files as references for a job's input; texts are uploaded. Raises: ToolProblem."""
    references = []
    for file in given:
        if (file.file_id is None) == (file.text is None):
            raise ToolProblem("invalid_request", f"files: give exactly one of file_id and text for {file.path!r}.")
        id = file.file_id
        if file.text is not None:
            id = (await context.client.files.put(file.text.encode(), name=Path(file.path).name or "file")).id
        assert id is not None
        references.append({"id": id, "path": file.path})
    return references


def content_of(context: ToolContext, text: str | None, encoded: str | None, path: str | None) -> files.Content:
    """Return the content to upload. Raises: ToolProblem."""
    if sum(given is not None for given in (text, encoded, path)) != 1:
        choice = "text, base64 and path" if context.folders else "text and base64"
        raise ToolProblem("invalid_request", f"Give exactly one of {choice}.")
    if text is not None:
        return text.encode()
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise ToolProblem("invalid_request", "base64: that is not base64.") from None
    assert path is not None
    return _opened(context.folders, path)


def _opened(folders: Sequence[Path], path: str) -> Path:
    """Return the file if it is below one of the folders after links are resolved. Raises: ToolProblem."""
    for folder in folders:
        try:
            file = (folder / path).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if file.is_file() and file.is_relative_to(folder):
            return file
    raise ToolProblem("path_not_allowed", "There is no such file in a folder that this server may read.")
