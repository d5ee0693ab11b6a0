"""The table of a job's result, in the form that the caller reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import Response
from fastapi.responses import StreamingResponse
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.http.responses import JsonText
from services.gateway.http.uploads import disposition
from services.gateway.tables.forms import FORMS, MAX_SHEET_COLUMNS, MAX_SHEET_ROWS, Form
from shared import blobs
from shared.errors import InvalidRequest, NotFound
from shared.jobs.content import files


async def file_of(db: AsyncConnection, result: object, format: str, tenant: str) -> RowMapping:
    """Return the row of the Parquet file of the result's table. Raises: InvalidRequest, NotFound."""
    known = await asyncio.to_thread(result.read) if isinstance(result, JsonText) else result
    table = known.get("table") if isinstance(known, Mapping) else None
    if format not in FORMS or not isinstance(table, Mapping) or table.get("file_id") is None:
        raise _unfit(f"the result has no such form; a table has {', '.join(FORMS)}")
    _check_size(table, format)
    row: RowMapping | None = (await db.execute(files.find(str(table["file_id"]), tenant))).mappings().one_or_none()
    if row is None:
        raise NotFound("The file of this table is gone.")
    return row


async def response(deps: Dependencies, file: RowMapping, form: Form, tenant: str, name: str) -> Response:
    """Stream every row. Raises: InvalidRequest, NotFound, Overloaded."""
    headers = {"Content-Disposition": disposition(f"{name}.{'json' if form.name == 'records' else form.name}")}
    if form.name == "parquet":
        headers["Content-Length"] = str(file["size"])
        content = blobs.stream(deps.blobs, file["sha256"], 0, file["size"])
    else:
        most_bytes = (await deps.quotas.limits(tenant))["storage_bytes"]
        content = await deps.conversions.start(deps.blobs, file["sha256"], form, tenant, most_bytes)
    return StreamingResponse(content, 200, headers, form.media_type)


def _check_size(table: Mapping[str, Any], format: str) -> None:
    rows, columns = table["row_count"], len(table["columns"])
    if format == "xlsx" and (rows > MAX_SHEET_ROWS or columns > MAX_SHEET_COLUMNS):
        raise _unfit(
            f"a sheet of Excel holds {MAX_SHEET_ROWS:,} rows and {MAX_SHEET_COLUMNS:,} columns, the table has "
            f"{rows:,} and {columns:,}; take csv or parquet"
        )


def _unfit(message: str) -> InvalidRequest:
    return InvalidRequest(f"query.format: {message}", [(["query", "format"], message)])
