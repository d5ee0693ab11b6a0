"""How answers are written: JSON by orjson, entity tags, and pages with opaque cursors."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

import orjson
from fastapi import Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import RowMapping

from shared.contracts.common import Page
from shared.db import READ_JSON
from shared.errors import InvalidRequest

Item = TypeVar("Item")
Read = TypeVar("Read")

Limit = Annotated[int, Query(ge=1, le=200, description="How many items a page holds")]
Cursor = Annotated[str | None, Query(max_length=500, description="The `next_cursor` of the page before")]


class JsonText:
    """JSON that is passed on as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self) -> dict[str, Any]:
        value: dict[str, Any] = READ_JSON(self.text)
        return value


class Json(Response):
    """JSON in UTF-8, times in UTC with a Z."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return encode(content)


class Prepared(Json):
    """The answer of a route that must be fast, or is large: written as it is, and not validated against the model.

    A test validates the real answers of every route that returns one.
    """

    def tagged(self) -> Prepared:
        """Name the body's hash as its ``ETag``."""
        self.headers["ETag"] = etag_of(bytes(self.body))
        return self


def encode(content: object) -> bytes:
    return orjson.dumps(content, default=_to_json, option=orjson.OPT_UTC_Z)


def conditional(handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Answer 304 without a body to a client that has the version that the answer's ``ETag`` names."""

    async def answer(request: Request) -> Response:
        response = await handle(request)
        tag = response.headers.get("etag")
        is_known = tag is not None and has_tag(request.headers.get("if-none-match"), tag)
        if not is_known or request.method != "GET" or response.status_code != 200:
            return response
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return Response(status_code=304, headers=headers)

    return answer


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def has_tag(header: str | None, tag: str) -> bool:
    """Return whether the tag is among those of an ``If-Match`` or ``If-None-Match`` header."""
    if header is None:
        return False
    given = {page_of_list.strip().removeprefix("W/") for page_of_list in header.split(",")}
    return "*" in given or tag in given


def page(
    rows: Sequence[RowMapping],
    limit: int,
    view: Callable[[RowMapping], Item],
    key: tuple[str, str] = ("created_at", "id"),
) -> Page[Item]:
    """Return one page of ``rows``, which the statement has limited to one more than ``limit``."""
    shown = rows[:limit]
    more = len(rows) > limit
    at, identity = key
    return Page(
        items=[view(row) for row in shown],
        next_cursor=cursor_after(shown[-1][at], str(shown[-1][identity])) if more else None,
    )


def page_of_list(items: Sequence[Item], limit: int, cursor: str | None) -> Page[Item]:
    """Return one page of a short list that is in memory. Raises: InvalidRequest for a cursor of another list."""
    start = 0 if cursor is None else _parse_cursor(cursor, _read_offset)
    rest = items[start : start + limit]
    more = start + limit < len(items)
    return Page(items=list(rest), next_cursor=_write_cursor(start + limit) if more else None)


def cursor_after(created_at: datetime, id: str) -> str:
    return _write_cursor([created_at, id])


def read_cursor(cursor: str | None) -> tuple[datetime, str] | None:
    """Return the (created_at, id) of the last item seen. Raises: InvalidRequest for an unknown cursor."""
    return None if cursor is None else _parse_cursor(cursor, _read_place)


def read_number(cursor: str | None) -> int | None:
    """Return the number of the last item seen, for a list whose ids are numbers. Raises: InvalidRequest."""
    position = read_cursor(cursor)
    if position is None:
        return None
    if not position[1].isdecimal() or len(position[1]) > 18:
        message = "give the next_cursor of an earlier page"
        raise InvalidRequest(f"query.cursor: {message}", [(["query", "cursor"], message)])
    return int(position[1])


def _write_cursor(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()


def _parse_cursor(cursor: str, read: Callable[[object], Read]) -> Read:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return read(orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True)))
    except (ValueError, TypeError):
        message = "give the next_cursor of an earlier page"
        raise InvalidRequest(f"query.cursor: {message}", [(["query", "cursor"], message)]) from None


def _read_place(value: object) -> tuple[datetime, str]:
    moment, id = cast("list[Any]", value)
    created_at = datetime.fromisoformat(moment)
    if not isinstance(id, str) or "\0" in id or created_at.tzinfo is None:
        raise ValueError("not one of ours")
    return created_at, id


def _read_offset(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("not one of ours")
    return value


def _to_json(value: object) -> object:
    if isinstance(value, JsonText):
        return orjson.Fragment(value.text)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} is not JSON")
