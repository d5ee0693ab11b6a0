"""Metadata of `/mcp` as a protected resource (RFC 9728), for clients that request it before they connect."""

from __future__ import annotations

import re
from typing import cast

from fastapi import Request, Response

from services.gateway.dependencies import Dependencies
from services.gateway.http.responses import Json
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes

router = routes()

#: A name or an address, and a port.
_HOST = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?|\[[0-9a-fA-F:.]{2,45}\])(:\d{1,5})?")
_PATH = "/.well-known/oauth-protected-resource"


def metadata_url(request: Request) -> str:
    return f"{_base(request)}{_PATH}/mcp"


@router.get(_PATH, include_in_schema=False)
@router.get(f"{_PATH}/mcp", include_in_schema=False)
@EndpointRules(public=True)
async def protected_resource(request: Request) -> Response:
    """Return the metadata without an authorization server: the bearer token is an API key, which the operator
    creates.
    """
    base = _base(request)
    return Json(
        {
            "resource": f"{base}/mcp",
            "resource_name": "Assay",
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["read", "write"],
            "resource_documentation": f"{base}/docs",
        },
        headers={"Cache-Control": "no-store"},  # a cache would give one client's Host to another
    )


def _base(request: Request) -> str:
    """Return the address that the client called; the gateway's own where what it sent is not the name of a host."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        http = cast(Dependencies, request.app.state.dependencies).settings.http
        host = f"{http.host}:{http.port}"
    return f"{request.url.scheme}://{host}"
