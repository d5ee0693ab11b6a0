"""Where a webhook may go: a public https address, resolved once and used as it was checked."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from shared.contracts.addresses import public_address


class AddressRefused(Exception):
    """The URL points to somewhere that a server must not be made to call."""


@dataclass(frozen=True)
class Target:
    host: str  #: as the URL spells it, for the Host header and TLS
    address: str  #: the checked IP address
    port: int
    scheme: str
    path: str

    @property
    def authority(self) -> str:
        """The Host header: the port stands there when it is not the scheme's own."""
        usual = {"https": 443, "http": 80}[self.scheme]
        return self.host if self.port == usual else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with the address in the host's place, so that nothing resolves the name a second time."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.path}"


def resolve(url: str, *, allow_private: bool) -> Target:
    """Check a webhook's URL. Raises: AddressRefused."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AddressRefused("not an http address")
    if parts.scheme == "http" and not allow_private:
        raise AddressRefused("not https")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except OSError as fault:
        raise AddressRefused("the name does not resolve") from fault
    addresses = [str(entry[4][0]) for entry in found]
    if not allow_private and not all(public_address(ipaddress.ip_address(it.partition("%")[0])) for it in addresses):
        raise AddressRefused("not a public address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.hostname, addresses[0], port, parts.scheme, path)
