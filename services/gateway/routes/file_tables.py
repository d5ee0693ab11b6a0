"""Files that are tables: their rows in pages, and what their columns hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Prepared
from services.gateway.http.rules import Id
from services.gateway.routes.files import find
from services.gateway.routing import routes
from services.gateway.tables.asking import ask
from shared.contracts.described import field_texts
from shared.contracts.files import FileProfile, FileRows
from shared.contracts.tables import DecimalSign, TableReading

router = routes("/v1/files", "Files")


def _option(name: str) -> object:
    """Return the query parameter of an option of reading, which is described where it is defined."""
    return Query(description=field_texts(TableReading)[name])


def _reading(
    sheet: Annotated[str | None, _option("sheet")] = None,
    delimiter: Annotated[str | None, _option("delimiter")] = None,
    encoding: Annotated[str | None, _option("encoding")] = None,
    header_row: Annotated[int | None, _option("header_row")] = None,
    skip: Annotated[int, _option("skip")] = 0,
    decimal: Annotated[DecimalSign | None, _option("decimal")] = None,
    na_values: Annotated[list[str], _option("na_values")] = [],  # noqa: B006
) -> TableReading:
    """Return the options. Raises: RequestValidationError."""
    given = {
        "sheet": sheet, "delimiter": delimiter, "encoding": encoding, "header_row": header_row, "skip": skip,
        "decimal": decimal, "na_values": na_values,
    }  # fmt: skip
    try:
        return TableReading.model_validate(given)
    except ValidationError as fault:
        errors = [{**error, "loc": ("query", *error["loc"])} for error in fault.errors()]
        raise RequestValidationError(errors) from None


Reading = Annotated[TableReading, Depends(_reading)]

_FILTER = "`COLUMN:eq:VALUE`; also `ne`, `lt`, `le`, `gt`, `ge`, `contains`, and `COLUMN:null`, `COLUMN:not_null`"


def _page(
    offset: Annotated[int, Query(ge=0, le=10**12, description="Number of rows to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Number of rows on a page")] = 100,
    columns: Annotated[list[str], Query(max_length=300, description="Only these, in this order")] = [],  # noqa: B006
    sort: Annotated[list[str], Query(max_length=10, description="By these; `-NAME` is falling")] = [],  # noqa: B006
    filter: Annotated[list[str], Query(max_length=20, description=_FILTER)] = [],  # noqa: B006
) -> dict[str, Any]:
    return {"offset": offset, "limit": limit, "columns": columns, "sort": sort, "filter": filter}


RowsPage = Annotated[dict[str, Any], Depends(_page)]


@router.get("/{id}/rows", summary="Read rows of a file that is a table", response_model=FileRows)
async def get_file_rows(id: Id, caller: CurrentCaller, deps: Deps, page: RowsPage, reading: Reading) -> Prepared:
    """Read rows of a table of up to 256 MB, in any format that jobs read. A page of large rows ends early, at 4 MB.

    `reading` says how the file was read; state an option of it to have the file read otherwise.
    """
    question = {"ask": "rows", **page, "reading": reading.reading()}
    return Prepared(await _asked(deps, id, caller.tenant, question))


@router.get("/{id}/profile", summary="Describe the columns of a file that is a table")
async def get_file_profile(id: Id, caller: CurrentCaller, deps: Deps, reading: Reading) -> FileProfile:
    """Types, missing and distinct values, ranges, histograms and the most frequent values, of 200 columns at most."""
    question = {"ask": "profile", "reading": reading.reading()}
    return FileProfile.model_validate(await _asked(deps, id, caller.tenant, question))


async def _asked(deps: Dependencies, id: str, tenant: str, question: dict[str, Any]) -> dict[str, Any]:
    async with deps.database.read(tenant) as db:  # not held while the file is read
        row = await find(db, id, tenant)
    return await ask(deps.conversions, deps.blobs, dict(row), tenant, question)
