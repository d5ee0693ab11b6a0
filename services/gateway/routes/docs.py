"""The documentation pages: everything they need comes from this server."""

from __future__ import annotations

import asyncio
import gzip
from functools import cache
from html import escape
from pathlib import Path

from fastapi import FastAPI, Request, Response

from services.gateway.http.problems import by_code
from services.gateway.http.responses import Json, encode, etag_of, has_tag
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from shared.errors import AssayError, NotFound

router = routes(tag="Documentation")

_PAGES = Path(__file__).parent / "pages"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


@router.get("/", summary="Redirect a browser to the console", include_in_schema=False)
@EndpointRules(public=True)
async def front_page() -> Response:
    return Response(status_code=307, headers={"Location": "/docs"})


@router.get("/openapi.json", summary="The OpenAPI document", include_in_schema=False)
@EndpointRules(public=True)
async def openapi_document(request: Request) -> Response:
    """Return the document, which is made, hashed and compressed once per process."""
    body, packed, tag = await _description(request.app)
    headers = {"ETag": tag, "Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
    if has_tag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type=Json.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(body, media_type=Json.media_type, headers=headers)


async def _description(app: FastAPI) -> tuple[bytes, bytes, str]:
    """Return the OpenAPI document, the same compressed, and its entity tag.

    Making it takes a second: it is made once, and concurrent callers wait without holding a thread.
    """
    making: asyncio.Task[tuple[bytes, bytes, str]] | None = getattr(app.state, "description", None)
    if making is None or (making.done() and (making.cancelled() or making.exception() is not None)):
        making = app.state.description = asyncio.create_task(asyncio.to_thread(_described, app))
    return await asyncio.shield(making)


def _described(app: FastAPI) -> tuple[bytes, bytes, str]:
    body = encode(app.openapi())
    return body, gzip.compress(body, 6, mtime=0), etag_of(body)


@router.get("/docs", summary="The documentation", include_in_schema=False)
@EndpointRules(public=True)
async def docs_page() -> Response:
    return _html(_asset("docs.html"))


@router.get("/docs/errors", summary="The catalogue of errors", include_in_schema=False)
@EndpointRules(public=True)
async def errors_page() -> Response:
    rows = "".join(_error_row(code, kind) for code, kind in sorted(by_code().items()))
    return _html(_asset("errors.html").replace("{{ rows }}", rows))


def _error_row(code: str, kind: type[AssayError]) -> str:
    cells = (f"<code>{escape(code)}</code>", str(kind.status), escape(kind.title))
    columns = "".join(f"<td>{cell}</td>" for cell in (*cells, _with_code(kind.cause), _with_code(kind.remedy)))
    return f'<tr id="{escape(code)}">{columns}</tr>'


def _with_code(text: str) -> str:
    """Return the text with the parts between backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


@router.get("/docs/assets/{name}", summary="What the pages need", include_in_schema=False)
@EndpointRules(public=True)
async def docs_asset(name: str) -> Response:
    media_type = _TYPES.get(Path(name).suffix)
    if media_type is None or Path(name).name != name or not (_PAGES / name).is_file():
        raise NotFound("There is no such page.")
    return Response(_asset(name), media_type=media_type, headers=_HEADERS)


def _html(text: str) -> Response:
    return Response(text, media_type="text/html; charset=utf-8", headers=_HEADERS)


@cache
def _asset(name: str) -> str:
    return (_PAGES / name).read_text("utf-8")
