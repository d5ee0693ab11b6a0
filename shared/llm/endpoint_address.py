"""Addresses of endpoints: which the gateway may call, and how they are written and shown."""

from __future__ import annotations

from urllib.parse import urlsplit

from shared import addresses
from shared.errors import InvalidRequest


def base_url_of(url: str) -> str:
    """Return the base URL with the ``/v1`` that people leave out of an OpenAI-compatible address."""
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def check_address(url: str, *, allow_private: bool) -> None:
    """Raise InvalidRequest for an address that the gateway may not call."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    problem = None
    if parts.query or parts.fragment or parts.username:
        problem = "the address is not a base URL: it has a query, a fragment or a user"
    elif not allow_private and parts.scheme != "https":
        problem = "only https is allowed: the operator may set ASSAY_LLM_PRIVATE_ENDPOINTS"
    else:
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            resolved = addresses.resolve(host, port, allow_private=allow_private)
            if addresses.is_link_local(resolved):
                problem = "the address is one of the machine's own services"
        except addresses.AddressPrivate:
            problem = "the address is private: the operator may set ASSAY_LLM_PRIVATE_ENDPOINTS"
        except (addresses.AddressUnknown, ValueError):
            problem = f"the host {host[:100]!r} is not known"
    if problem is not None:
        raise InvalidRequest(f"body.url: {problem}", [(["body", "url"], problem)])


def shown(url: str) -> str:
    """Return the address without its possible secrets: user, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
