"""Uploads that can be interrupted: a file in parts, as tus 1.0 says (core, creation, expiration, termination)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Coroutine
from datetime import datetime
from email.utils import format_datetime
from typing import Annotated, Any

from fastapi import Header, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http import bodies
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.http.uploads import media_type, safe_name
from services.gateway.jobs.submit import new_id
from services.gateway.routing import routes
from shared import blobs
from shared.contracts.common import Page
from shared.contracts.files import UploadInfo
from shared.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    StorageFull,
    UnsupportedMediaType,
)
from shared.jobs.content import files, uploads

router = routes("/v1/uploads", "Files")

_VERSION = "1.0.0"
_PART_BYTES = 8_000_000  #: kept at once; what of a part has come when a connection breaks is lost
#: That of tus; and the one that generators of clients know, which is the one in the document.
_TYPES = ("application/offset+octet-stream", "application/octet-stream")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
Version = Annotated[str, Header(alias="Tus-Resumable", description="The version of tus: 1.0.0")]
_TOLD: dict[int | str, dict[str, Any]] = {
    200: {"description": "`Upload-Offset` says how many bytes are there, `Upload-Length` how many there will be"}
}


@router.post("", summary="Begin an upload that can be interrupted", status_code=201)
async def begin_upload(
    response: Response,
    caller: CurrentCaller,
    db: Db,
    deps: Deps,
    length: Annotated[int, Header(alias="Upload-Length", ge=0, description="Bytes of the whole file")],
    metadata: Annotated[
        str, Header(alias="Upload-Metadata", max_length=4000, description="`filename` and `filetype`, in Base64")
    ] = "",
    version: Version = _VERSION,
) -> UploadInfo:
    """`Location` is where its parts go, by PATCH; it is kept for a day."""
    _check(version)
    most = deps.settings.http.upload_bytes
    if length > most:
        raise bodies.upload_too_large(most)
    blobs.check_space(deps.blobs, 2 * length)  # its parts, and the file that they are joined to
    fields = _metadata(metadata)
    name = safe_name(fields.get("filename"))
    await db.execute(uploads.remove_expired(caller.tenant))
    await deps.quotas.reserve_bytes(db, caller.tenant, length)
    kind = media_type(fields.get("filetype", ""), name)
    row = (await db.execute(uploads.create(new_id(), caller.tenant, name, kind, length))).mappings().one()
    response.headers.update({**_headers(row), "Location": f"/v1/uploads/{row['id']}"})
    return _view(row)


@router.get("", summary="List uploads that are not finished, newest first")
async def list_uploads(caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None) -> Page[UploadInfo]:
    """List uploads whose parts take space until they are finished, deleted, or a day old."""
    rows = (await db.execute(uploads.page(caller.tenant, limit + 1, read_cursor(cursor)))).mappings().all()
    return page(rows, limit, _view)


@router.get("/{id}", summary="How far an upload has come", responses=_TOLD)
async def get_upload(
    response: Response, id: Id, caller: CurrentCaller, db: Db, version: Version = _VERSION
) -> UploadInfo:
    """Return the upload; the next part begins at `received`. HEAD returns `Upload-Offset` and `Upload-Length`."""
    _check(version)
    row = await _find(db, id, caller.tenant)
    response.headers.update({**_headers(row), "Cache-Control": "no-store"})
    return _view(row)


@router.patch(
    "/{id}", summary="Send a part of an upload", status_code=204, response_class=Response, openapi_extra=_BODY
)
@EndpointRules(raw=True)
async def append_to_upload(
    request: Request,
    response: Response,
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    offset: Annotated[int, Header(alias="Upload-Offset", ge=0, description="Where the part begins")],
    version: Version = _VERSION,
) -> None:
    """Append a part. When the connection breaks, received data is kept in steps of 8 MB. The last part completes the
    file.
    """
    _check(version)
    if request.headers.get("content-type") not in _TYPES:
        raise UnsupportedMediaType(f"Send a part as {_TYPES[0]}.")
    async with deps.database.read(caller.tenant) as db:  # not held while bytes come
        row = await _find(db, id, caller.tenant)
    _demand(row, offset)
    http = deps.settings.http
    body = bodies.stream(request, row["size"] - offset, http.body_pause_seconds, bodies.upload_too_large)
    async for part in _parts(body):
        with_space = _keep(deps, id, caller.tenant, offset, part)
        row = await _or_give_up(deps, id, caller.tenant, with_space)
        offset += len(part)
    if offset == row["size"] and row["file_id"] is None:
        row = await _or_give_up(deps, id, caller.tenant, _finish(deps, row))
    response.headers.update(_headers(row))


@router.delete("/{id}", summary="Give up an upload", status_code=204, response_class=Response)
async def delete_upload(
    response: Response, id: Id, caller: CurrentCaller, db: Db, deps: Deps, version: Version = _VERSION
) -> None:
    """Delete the upload's parts; a file that it was completed to stays."""
    _check(version)
    await _find(db, id, caller.tenant)
    await db.execute(uploads.remove(id, caller.tenant))
    await blobs.drop_parts(deps.blobs, id)
    response.headers["Tus-Resumable"] = _VERSION


async def _or_give_up(deps: Dependencies, id: str, tenant: str, step: Coroutine[Any, Any, RowMapping]) -> RowMapping:
    """Take a step of the upload; when the disk has no space for it, none of the upload stays. Raises: StorageFull."""
    try:
        return await step
    except StorageFull:
        await blobs.drop_parts(deps.blobs, id)  # first: without space the record may not take the deletion
        async with deps.database.write(tenant) as db:
            await db.execute(uploads.remove(id, tenant))
        raise


async def _parts(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    part = bytearray()
    async for chunk in body:
        part += chunk
        if len(part) >= _PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


async def _keep(deps: Dependencies, id: str, tenant: str, offset: int, part: bytes) -> RowMapping:
    """Write a part that is here already, under the lock of the upload: of two that begin at one place, one is kept."""
    async with deps.database.write(tenant) as db:
        row = (await db.execute(uploads.find(id, tenant).with_for_update())).mappings().one_or_none()
        _demand(_known(row, id), offset)
        await blobs.keep_part(deps.blobs, id, offset, part)
        await db.execute(uploads.receive(id, tenant, offset + len(part)))
        return await _find(db, id, tenant)


async def _finish(deps: Dependencies, row: RowMapping) -> RowMapping:
    """Join the parts to the file. If that is interrupted, an empty part at the end restarts it."""
    id, tenant = row["id"], row["tenant_id"]
    await deps.quotas.admit_bytes(tenant, row["size"])
    blob = await blobs.receive(deps.blobs, blobs.parts(deps.blobs, id))
    async with deps.database.write(tenant) as db:
        locked = _known((await db.execute(uploads.find(id, tenant).with_for_update())).mappings().one_or_none(), id)
        if locked["file_id"] is not None:
            return locked
        await deps.quotas.reserve_bytes(db, tenant, 0)  # it is among those that were begun
        file_id = new_id()
        await db.execute(files.add(file_id, tenant, row["name"], row["media_type"], blob.sha256, blob.size))
        await db.execute(uploads.finish(id, tenant, file_id))
        whole = await _find(db, id, tenant)
    blobs.release(deps.blobs, blob)
    deps.quotas.stored(tenant, blob.size)
    await blobs.drop_parts(deps.blobs, id)
    return whole


async def _find(db: AsyncConnection, id: str, tenant: str) -> RowMapping:
    """Return an upload's row. Raises: NotFound."""
    return _known((await db.execute(uploads.find(id, tenant))).mappings().one_or_none(), id)


def _known(row: RowMapping | None, id: str) -> RowMapping:
    if row is None:
        raise NotFound(f"There is no upload {id}, or it is older than a day; start it again.")
    return row


def _demand(row: RowMapping, offset: int) -> None:
    """Raise Conflict unless the part begins at the upload's offset."""
    if row["received"] != offset:
        raise Conflict(f"The upload's offset is {row['received']}, not {offset}; continue from there.")


def _check(version: str) -> None:
    if version != _VERSION:
        raise PreconditionFailed(f"Only tus {_VERSION} is spoken here.")


def _metadata(header: str) -> dict[str, str]:
    """Parse the header. Raises: InvalidRequest."""
    fields = {}
    for pair in filter(None, map(str.strip, header.split(","))):
        key, _, value = pair.partition(" ")
        try:
            fields[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise InvalidRequest(f"Upload-Metadata: the value of {key[:50]!r} is not text in Base64.") from None
    return fields


def _view(row: RowMapping) -> UploadInfo:
    return UploadInfo.model_validate({**row, "expires_at": row["created_at"] + blobs.UPLOAD_KEPT})


def _headers(row: RowMapping) -> dict[str, str]:
    created: datetime = row["created_at"]
    headers = {
        "Tus-Resumable": _VERSION,
        "Upload-Offset": str(row["received"]),
        "Upload-Length": str(row["size"]),
        "Upload-Expires": format_datetime(created + blobs.UPLOAD_KEPT),
    }
    return headers if row["file_id"] is None else {**headers, "Location": f"/v1/files/{row['file_id']}"}
