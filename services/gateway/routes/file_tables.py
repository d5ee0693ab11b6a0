"""Files that are tables: their rows in pages, and what their columns hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Prepared
from services.gateway.http.rules import Id
from services.gateway.routes.files import find
from services.gateway.routing import routes
from services.gateway.tables.asking import ask
from shared.contracts.files import FileProfile, FileRows

router = routes("/v1/files", "Files")

_FILTER = "`COLUMN:eq:VALUE`; also `ne`, `lt`, `le`, `gt`, `ge`, `contains`, and `COLUMN:null`, `COLUMN:not_null`"


@router.get("/{id}/rows", summary="Read rows of a file that is a table", response_model=FileRows)
async def get_file_rows(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    offset: Annotated[int, Query(ge=0, le=10**12, description="Number of rows to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Number of rows on a page")] = 100,
    columns: Annotated[list[str], Query(max_length=300, description="Only these, in this order")] = [],  # noqa: B006
    sort: Annotated[list[str], Query(max_length=10, description="By these; `-NAME` is falling")] = [],  # noqa: B006
    filter: Annotated[list[str], Query(max_length=20, description=_FILTER)] = [],  # noqa: B006
) -> Prepared:
    """Read rows of Parquet, Arrow, CSV and JSON lines, up to 256 MB. A page of large rows ends early, at 4 MB."""
    question = {"ask": "rows", "offset": offset, "limit": limit, "columns": columns, "sort": sort, "filter": filter}
    return Prepared(await _asked(deps, id, caller.tenant, question))


@router.get("/{id}/profile", summary="Describe the columns of a file that is a table")
async def get_file_profile(id: Id, caller: CurrentCaller, deps: Deps) -> FileProfile:
    """Types, missing and distinct values, ranges, histograms and the most frequent values, of 200 columns at most."""
    return FileProfile.model_validate(await _asked(deps, id, caller.tenant, {"ask": "profile"}))


async def _asked(deps: Dependencies, id: str, tenant: str, question: dict[str, Any]) -> dict[str, Any]:
    async with deps.database.read(tenant) as db:  # not held while the file is read
        row = await find(db, id, tenant)
    return await ask(deps.conversions, deps.blobs, row["sha256"], row["size"], tenant, question)
