"""Metadata of `/mcp` as a protected resource (RFC 9728), for clients that request it before they connect."""

from __future__ import annotations

from fastapi import Request, Response

from services.gateway.http.responses import Json
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes

router = routes()

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
        }
    )


def _base(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"
