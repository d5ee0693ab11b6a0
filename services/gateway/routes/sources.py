"""What a ``detect`` job has read: its files by name, and the lines that its claims rest on."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Query

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from services.gateway.streams.waits import find
from shared.contracts.detect import DetectSource, SourceText
from shared.errors import NotFound
from shared.jobs.record import queries

router = routes("/v1/jobs", "Jobs")

_MAX_LINES = 2_000
_LONGEST_LINE = 2_000
Line = Annotated[int | None, Query(ge=1, le=10_000_000, description="The number of a line, from 1")]


@router.get("/{id}/source", summary="Read the source of a detection")
async def get_job_source(
    id: Id,
    caller: CurrentCaller,
    db: Db,
    path: Annotated[str | None, Query(max_length=4096, description="A file; without it the names of all")] = None,
    first: Line = None,
    last: Line = None,
) -> DetectSource:
    """Return the source of a `detect` job, as long as the job is kept: names (at most 5,000), and lines of the files
    that a claim rests on (at most 2,000 lines of 2,000 characters each). Files with credentials are not kept.
    """
    await find(db, id, caller.tenant)
    form = (await db.execute(queries.form(id, caller.tenant, "source"))).one_or_none()
    if form is None:
        raise NotFound("No source is kept of this job: it is not a detection, or an earlier version of Assay ran it.")
    kept: dict[str, Any] = orjson.loads(form.body)
    readable = sorted(kept["texts"])
    if path is None:
        return DetectSource(files=kept["files"], file_count=kept["file_count"], readable=readable)
    text = kept["texts"].get(path)
    if text is None:
        raise NotFound("Of this file no text is kept: no claim rests on it, it is not text, or it holds credentials.")
    lines = text.splitlines()
    begin = (first or 1) - 1
    shown = lines[begin : min(begin + _MAX_LINES, last or len(lines))]
    excerpt = SourceText(
        path=path,
        first=begin + 1,
        lines=[line[:_LONGEST_LINE] for line in shown],
        line_count=len(lines),
        cut=path in kept["cut"],
    )
    return DetectSource(file_count=kept["file_count"], readable=readable, text=excerpt)
