"""Serves the built console: its page with a policy that only this very answer fulfils, and files that never change."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.http import problems
from shared.errors import NotFound

DIST = Path(__file__).resolve().parents[2] / "console" / "dist"

#: Everything else that a browser opens is a place of the console, which its own router knows.
_NOT_OURS = re.compile(r"/(v1|api|docs|assets|mcp)(/|$)|/(openapi\.json|healthz|readyz|metrics)$")
_ASSET = re.compile(r"/assets/([A-Za-z0-9_.-]{1,200})")
_TYPES = {
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}  # fmt: skip
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_FOREVER = "public, max-age=31536000, immutable"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' blob: data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'"
)
_MAX_REASON = 4000
_NOTICE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Assay: no console here</title>
<style nonce="__NONCE__">body{font:15px/1.6 system-ui;max-width:38em;margin:4em auto;padding:0 1em}
pre{white-space:pre-wrap;padding:.8em;border:1px solid #8888;border-radius:6px}:root{color-scheme:light dark}</style>
<main><h1>The console is not built</h1>__REASON__
<p>Build it with <code>python console/build.py</code> in the source tree (it needs the package registries of Python
and npm), then load this page again. Everything else works without it: <a href="/docs">the API</a>,
the <code>assay</code> command and the Python client.</p></main></html>"""


@dataclass(frozen=True)
class ConsolePages:
    """Wraps the application: answers what a browser opens, and leaves the API as it is."""

    app: ASGIApp
    folder: Path = DIST

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        respond = self.app
        if scope["type"] == "http" and scope["method"] == "GET":
            path = scope["path"]
            if path.startswith("/assets/"):
                respond = await to_thread.run_sync(_asset, self.folder, Request(scope))
            elif not _NOT_OURS.match(path) and "text/html" in Request(scope).headers.get("accept", ""):
                respond = await to_thread.run_sync(_page, self.folder)
        await respond(scope, receive, send)


def _page(folder: Path) -> Response:
    """Return the console's page, or why there is none; its nonce is new each time, so it is never cached."""
    nonce = secrets.token_urlsafe(16)
    index = folder / "index.html"
    try:
        text = _text(index, index.stat().st_mtime_ns)
    except OSError:
        text = _NOTICE.replace("__REASON__", _reason(folder))
    headers = {"Content-Security-Policy": _POLICY.format(nonce=nonce), "Cache-Control": "no-store"}
    return Response(text.replace("__NONCE__", nonce), media_type="text/html; charset=utf-8", headers=headers)


@lru_cache(maxsize=4)
def _text(file: Path, _modified: int) -> str:
    return file.read_text("utf-8")


def _reason(folder: Path) -> str:
    """Return what a failed build has written, as HTML: the reason, what to do, and what pip or npm said."""
    try:
        text = (folder / "reason").read_text("utf-8")[:_MAX_REASON]
    except OSError:
        text = "It has not been built on this machine yet."
    reason, advice, words = [*text.split("\n\n", 2), "", ""][:3]
    parts = [f"<p>{escape(part)}</p>" for part in (reason, advice) if part]
    return "".join(parts) + (f"<pre>{escape(words)}</pre>" if words else "")


def _asset(folder: Path, request: Request) -> Response:
    """Return a file of the bundle, compressed if the client accepts it; its name holds its hash, so it is cached for
    ever.
    """
    name = _ASSET.fullmatch(request.url.path)
    media_type = _TYPES.get(Path(name[1]).suffix) if name else None
    file = folder / "assets" / name[1] if name else folder
    if media_type is None or not file.is_file():
        return problems.problem(NotFound("There is no such file; load the page again."), request.state.request_id)
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding", "ETag": f'"{file.name}"'}
    if f'"{file.name}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    accepted = request.headers.get("accept-encoding", "")
    for encoding, suffix in _ENCODINGS:
        packed = file.with_name(file.name + suffix)
        if encoding in accepted and packed.is_file():
            return FileResponse(packed, media_type=media_type, headers={**headers, "Content-Encoding": encoding})
    return FileResponse(file, media_type=media_type, headers=headers)
