"""Files: uploaded as streams, kept by their hash, fetched whole or in part."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db, Unit
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http import bodies, idempotency
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, Prepared, has_tag, page, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.http.uploads import FilePart, disposition, media_type, safe_name
from services.gateway.jobs.submit import new_id
from services.gateway.routing import routes
from shared import blobs
from shared.contracts.common import Page
from shared.contracts.files import FileInfo
from shared.errors import NotFound, RangeNotSatisfiable, UnsupportedMediaType
from shared.jobs.content import files

router = routes("/v1/files", "Files")

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})")
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            },
            "application/octet-stream": _BINARY,
        },
    }
}


@router.post("", summary="Upload a file", status_code=201, response_model=FileInfo, openapi_extra=_UPLOAD)
@EndpointRules(raw=True)
async def upload_file(
    request: Request,
    caller: CurrentCaller,
    unit: Unit,
    deps: Deps,
    name: Annotated[str | None, Query(max_length=1000, description="The name of a raw body")] = None,
) -> Prepared | Response:
    """Upload a multipart form with a field `file`, or the raw bytes with `?name=`. The name is a label, never a
    path.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Send the file as it is, without Content-Encoding.")
    await deps.quotas.admit_bytes(caller.tenant, bodies.declared_bytes(request))
    blobs.check_space(deps.blobs, bodies.declared_bytes(request))
    content_type = request.headers.get("content-type", "")
    http = deps.settings.http
    body = bodies.stream(request, http.upload_bytes, http.body_pause_seconds, bodies.upload_too_large)
    if content_type.lower().startswith("multipart/"):
        form = FilePart(content_type, body)
        blob = await _receive(deps, form.chunks())
        label = safe_name(name or form.part.name)
        kind = media_type(form.part.media_type, label)
    else:
        blob = await _receive(deps, body)
        label = safe_name(name)
        kind = media_type(content_type, label)
    try:
        db = await unit.connect()  # only now: no transaction waits for a slow client
        await deps.quotas.reserve_bytes(db, caller.tenant, blob.size)
        unit.after_commit.append(lambda: deps.quotas.stored(caller.tenant, blob.size))
        unit.after_commit.append(lambda: blobs.release(deps.blobs, blob))
        return await _filed(request, caller, db, label, kind, blob)
    except BaseException:
        blobs.release(deps.blobs, blob)
        deps.in_background(give_back(deps, blob.sha256))
        raise


async def _receive(deps: Dependencies, chunks: AsyncIterator[bytes]) -> blobs.Blob:
    return await blobs.receive(deps.blobs, chunks)


async def _filed(
    request: Request, caller: CurrentCaller, db: AsyncConnection, label: str, kind: str, blob: blobs.Blob
) -> Prepared | Response:
    """Enter the file in the record, once per idempotency key."""
    attempt = None
    header = request.headers.get("idempotency-key")
    if header is not None:
        identity = f"{blob.sha256} {label} {kind}".encode()
        mark = idempotency.fingerprint("POST", request.url.path, identity)
        attempt = idempotency.KeyedRequest(caller.tenant, idempotency.read_key(header), mark)
        if (replayed := await attempt.begin(db)) is not None:
            return replayed
    statement = files.add(new_id(), caller.tenant, label, kind, blob.sha256, blob.size)
    row = (await db.execute(statement)).mappings().one()
    response = Prepared(_view(row), 201, {"Location": f"/v1/files/{row['id']}"})
    if attempt is not None:
        await attempt.keep(db, response)
    return response


@router.get("", summary="List files, newest first")
async def list_files(caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None) -> Page[FileInfo]:
    rows = (await db.execute(files.page(caller.tenant, limit + 1, read_cursor(cursor)))).mappings().all()
    return page(rows, limit, _view)


@router.get("/{id}", summary="Get a file")
async def get_file(id: Id, caller: CurrentCaller, db: Db) -> FileInfo:
    return _view(await find(db, id, caller.tenant))


_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The bytes, with the media type that the file has",
        "content": {"application/octet-stream": _BINARY},
    },
    206: {"description": "The bytes of the range, likewise", "content": {"application/octet-stream": _BINARY}},
    304: {"description": "Not modified"},
    416: {"description": "The range begins after the end", "content": {"application/problem+json": {}}},
}


@router.get("/{id}/content", summary="Fetch a file's bytes", response_class=Response, responses=_CONTENT)
async def get_file_content(request: Request, id: Id, caller: CurrentCaller, deps: Deps) -> Response:
    """`Range: bytes=from-to` gives a part; `ETag` is the SHA-256."""
    async with deps.database.read(caller.tenant) as db:  # not held while the bytes flow
        row = await find(db, id, caller.tenant)
    tag = f'"{row["sha256"]}"'
    if has_tag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers={"ETag": tag})
    size = row["size"]
    of_this = request.headers.get("if-range") in (None, tag)
    part = _wanted_range(request.headers.get("range"), size) if of_this else None
    start, end = part or (0, size)
    headers = {
        "ETag": tag,
        "Accept-Ranges": "bytes",
        "Content-Type": row["media_type"],  # as it is: its charset is unknown
        "Content-Disposition": disposition(row["name"]),
        # Whatever was uploaded: a browser neither runs it nor guesses what it is.
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    headers["Content-Length"] = str(end - start)
    content = await _started(blobs.stream(deps.blobs, row["sha256"], start, end))
    return StreamingResponse(content, 200 if part is None else 206, headers)


def _wanted_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return where the requested part starts and ends (exclusive); None for the whole, also for an unusable header.

    Raises: RangeNotSatisfiable when it begins after the end.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        length = min(int(last), size)
        if length == 0:
            raise RangeNotSatisfiable(f"The file has {size} bytes.", size=size)
        return size - length, size
    start = int(first)
    if last and int(last) < start:
        return None
    if start >= size:
        raise RangeNotSatisfiable(f"The file has {size} bytes.", size=size)
    return start, min(int(last) + 1, size) if last else size


async def _started(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the stream with its first chunk loaded, so that missing content is a 404 and not a broken response."""
    try:
        first = await anext(chunks, b"")
    except FileNotFoundError:
        raise NotFound("The content of this file is gone.") from None

    async def whole() -> AsyncIterator[bytes]:
        if first:
            yield first
        async for chunk in chunks:
            yield chunk

    return whole()


@router.delete("/{id}", summary="Delete a file", status_code=204, response_class=Response)
async def delete_file(id: Id, caller: CurrentCaller, db: Db, unit: Unit, deps: Deps) -> None:
    """Free the file's space at once, unless another file has the same bytes."""
    removed = (await db.execute(files.remove(id, caller.tenant))).scalar_one_or_none()
    if removed is None:
        raise _missing(id)
    unit.after_commit.append(lambda: deps.in_background(give_back(deps, removed)))


async def give_back(deps: Dependencies, sha256: str) -> None:
    """Delete content that no file has any more; what cannot be deleted now is swept later."""
    if await _is_named(deps, sha256):
        return
    aside = await asyncio.to_thread(blobs.set_aside, deps.blobs, sha256)
    if aside is None:
        return
    is_named = True
    try:
        is_named = await _is_named(deps, sha256)
    finally:
        await asyncio.to_thread(aside.put_back if is_named else aside.delete)


async def _is_named(deps: Dependencies, sha256: str) -> bool:
    async with deps.database.read() as db:  # of any tenant
        return (await db.execute(files.named(sha256))).first() is not None


async def find(db: AsyncConnection, id: str, tenant: str) -> RowMapping:
    """Return a file's row. Raises: NotFound."""
    row: RowMapping | None = (await db.execute(files.find(id, tenant))).mappings().one_or_none()
    if row is None:
        raise _missing(id)
    return row


def _missing(id: str) -> NotFound:
    return NotFound(f"There is no file {id}.")


def _view(row: RowMapping) -> FileInfo:
    return FileInfo(**{name: row[name] for name in FileInfo.model_fields})
