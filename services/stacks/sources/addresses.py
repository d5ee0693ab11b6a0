"""Where a host name leads: every address has to be public, and the one that was checked is the one that is used."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from shared.contracts.addresses import public_address
from shared.errors import SourceNotAllowed, SourceUnreadable


def checked_address(url: str, private_allowed: bool) -> tuple[str, int, str]:
    """The host, the port and one checked address of a URL.

    Raises: SourceNotAllowed when any of its addresses is private, SourceUnreadable when it has none.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceUnreadable("the git host has no address; check the URL") from None
    addresses = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    if not private_allowed and not all(public_address(ipaddress.ip_address(it)) for it in addresses):
        raise SourceNotAllowed("git sources are fetched from public addresses only")
    return host, port, addresses[0]
