"""What a tool's call becomes on the wire: text for the model, the same as structured content, figures, links."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp import types

from assay.mcp.reports import file_links, report_of
from assay.mcp.tools import Answered, ToolSpec
from shared.contracts.jobs import JobState, JobView

if TYPE_CHECKING:
    from assay import AsyncClient

_IMAGES = ("image/png", "image/jpeg")
_MAX_IMAGES = 2
_MAX_IMAGE_BYTES = 500_000
_FAILURES = (JobState.FAILED, JobState.DEAD, JobState.CANCELLED)
#: Inspecting a failed job, or cancelling one, is not a failure of the tool.
_LOOKS = ("get_job", "cancel_job")


async def answer(client: AsyncClient, tool: ToolSpec, answered: Answered) -> types.CallToolResult:
    """Return the tool's result for an answer. Raises: APIError."""
    if not isinstance(answered, JobView):
        return _content(answered.model_dump(mode="json"), [])
    structured = report_of(answered).model_dump(mode="json", by_alias=True)
    extra: list[Any] = [*await _images(client, answered), *file_links(answered)]
    return _content(structured, extra, is_error=answered.state in _FAILURES and tool.name not in _LOOKS)


def _content(structured: dict[str, Any], extra: list[Any], *, is_error: bool = False) -> types.CallToolResult:
    content = {name: value for name, value in structured.items() if value not in (None, [], {})}
    text = types.TextContent(text=json.dumps(content, ensure_ascii=False))
    return types.CallToolResult(content=[text, *extra], structured_content=structured, is_error=is_error)


async def _images(client: AsyncClient, view: JobView) -> list[types.ImageContent]:
    """Small figures of a result, so that the model sees them. Raises: APIError."""
    images = []
    for id in list(_figures(view.result or {}))[:_MAX_IMAGES]:
        info = await client.files.get(id)
        if info.media_type in _IMAGES and info.size <= _MAX_IMAGE_BYTES:
            content = base64.b64encode(await client.files.content(id)).decode()
            images.append(types.ImageContent(data=content, mime_type=info.media_type))
    return images


def _figures(result: dict[str, Any]) -> Iterator[str]:
    if isinstance(plot := result.get("plot_file_id"), str):
        yield plot
    for shown in result.get("displays") or []:
        if isinstance(shown, dict) and shown.get("media_type") in _IMAGES and isinstance(shown.get("file_id"), str):
            yield shown["file_id"]
