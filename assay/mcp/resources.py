"""Results and files as resources: read in parts, whatever their size."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp import types

from assay.calls import files
from assay.mcp.problems import ToolProblem
from assay.mcp.reports import file_uri, result_uri
from shared.contracts.jobs import JobState

if TYPE_CHECKING:
    from assay import AsyncClient

_PART_BYTES = 200_000
_PAGE = 25
_URI = re.compile(
    r"assay://(?:jobs/(?P<job>[A-Za-z0-9_.-]{1,128})/result|files/(?P<file>[A-Za-z0-9_.-]{1,128}))"
    r"(?:\?offset=(?P<offset>[0-9]{1,15}))?"
)
_TEXT_TYPES = re.compile(r"text/.*|.*[/+](?:json|xml|yaml|javascript|x-ndjson|sql)")

TEMPLATES = [
    types.ResourceTemplate(
        uri_template="assay://jobs/{id}/result{?offset}",
        name="job-result",
        title="Result of a job",
        description=f"The whole result as JSON, {_PART_BYTES} bytes at a time; offset continues after a part",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template="assay://files/{id}{?offset}",
        name="file",
        title="File",
        description=f"An uploaded or made file, {_PART_BYTES} bytes at a time; offset continues after a part",
    ),
]


async def page(client: AsyncClient, cursor: str | None) -> types.ListResourcesResult:
    """Results of jobs, newest first, then files. Raises: APIError, ToolProblem."""
    noun, _, inner = (cursor or "jobs:").partition(":")
    if noun == "jobs":
        results = await client.jobs.list(state=JobState.SUCCEEDED, limit=_PAGE, cursor=inner or None)
        listed = [
            types.Resource(
                uri=result_uri(view.id),
                name=f"{view.kind} {view.id}",
                title=view.title,
                mime_type="application/json",
            )
            for view in results.items
        ]
        following = f"jobs:{results.next_cursor}" if results.next_cursor else "files:"
        return types.ListResourcesResult(resources=listed, next_cursor=following)
    if noun != "files":
        raise ToolProblem("invalid_request", "cursor: it is not one of a page before.")
    kept = await client.files.list(limit=_PAGE, cursor=inner or None)
    listed = [
        types.Resource(uri=file_uri(info.id), name=info.name, mime_type=info.media_type, size=info.size)
        for info in kept.items
    ]
    following_files = f"files:{kept.next_cursor}" if kept.next_cursor else None
    return types.ListResourcesResult(resources=listed, next_cursor=following_files)


async def read(client: AsyncClient, uri: str) -> types.ReadResourceResult:
    """Read one part; ``_meta`` has the size of the whole in bytes, and the URI of the next part.

    Raises: APIError, ToolProblem.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise ToolProblem("not_found", "Resources are assay://jobs/ID/result and assay://files/ID.")
    check_ids((match["job"], match["file"]))
    offset = int(match["offset"] or 0)
    if match["job"] is not None:
        base = result_uri(match["job"])
        reply = await client.request("GET", f"/v1/jobs/{match['job']}/result")
        return _part(base, uri, reply.body[offset : offset + _PART_BYTES], offset, len(reply.body), "application/json")
    info = await client.files.get(match["file"])
    content = b""
    if offset < info.size:
        last = min(offset + _PART_BYTES, info.size) - 1
        content = await client.send(files.content(info.id, offset, last))
    return _part(file_uri(info.id), uri, content, offset, info.size, info.media_type)


def check_ids(ids: Iterable[object]) -> None:
    """Refuse ids without a digit: a word would be another route of the API. Raises: ToolProblem."""
    for id in ids:
        if isinstance(id, str) and not re.search(r"\d", id):
            raise ToolProblem("not_found", f"There is nothing with the id {id!r}.")


def _part(base: str, uri: str, content: bytes, offset: int, size: int, media_type: str) -> types.ReadResourceResult:
    text = _text_of(content, media_type, is_last=offset + len(content) >= size)
    end = offset + (len(content) if text is None else len(text.encode()))
    meta: dict[str, object] = {"assay/size": size}
    if content and end < size:
        meta["assay/next"] = f"{base}?offset={end}"
    contents: types.TextResourceContents | types.BlobResourceContents
    if text is None:
        encoded = base64.b64encode(content).decode()
        contents = types.BlobResourceContents(uri=uri, mime_type=media_type, blob=encoded, _meta=meta)
    else:
        contents = types.TextResourceContents(uri=uri, mime_type=media_type, text=text, _meta=meta)
    return types.ReadResourceResult(contents=[contents])


def _text_of(content: bytes, media_type: str, *, is_last: bool) -> str | None:
    """Return the part as text; a character cut at the part's end belongs to the next part."""
    if not _TEXT_TYPES.fullmatch(media_type.partition(";")[0]):
        return None
    for cut in range(1 if is_last else 4):
        try:
            return content[: len(content) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None
