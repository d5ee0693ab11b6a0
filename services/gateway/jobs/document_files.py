"""Parameters of a document that is in a file: checked at submit as those of a document in the body are."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from shared import blobs
from shared.contracts.common import Loc
from shared.contracts.document import DocumentInput
from shared.declarations.documents import parameter_faults
from shared.errors import InvalidRequest

_MOST = 4_000_000  #: bytes; the worker checks what is in a larger file


async def check_parameters(deps: Dependencies, db: AsyncConnection, tenant: str, loc: Loc, input: BaseModel) -> None:
    """Raises: InvalidRequest naming each parameter that does not fit."""
    if not isinstance(input, DocumentInput) or input.file_id is None or not input.parameters:
        return
    files = blobs.files
    statement = select(files.c.size, files.c.sha256).where(files.c.id == input.file_id, files.c.tenant_id == tenant)
    row = (await db.execute(statement)).one_or_none()
    if row is None or row.size > _MOST:
        return
    try:
        content = b"".join([chunk async for chunk in blobs.stream(deps.blobs, row.sha256, 0, row.size)])
    except FileNotFoundError:
        return
    faults = await asyncio.to_thread(parameter_faults, content.decode("utf-8", "replace"), input.parameters)
    errors: list[tuple[list[str | int], str]] = [
        ([*loc, "input", "parameters", name], fault) for name, fault in faults.items()
    ]
    if errors:
        detail = "; ".join(f"{'.'.join(map(str, place))}: {fault}" for place, fault in errors[:3])
        raise InvalidRequest(detail, errors[:100])
