"""Which hosts are private: clients must not make a server call them (server-side request forgery)."""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit, urlunsplit

#: No public host has one: IPv4 addresses as they were once written in IPv6, translated ones (RFC 2765, RFC 8215), and
#: site-local addresses, segment routing (RFC 9602), documentation (RFC 9637), relays of 6to4 (RFC 7526), and where a
#: cloud serves its machines' credentials.
_NEVER_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10", "5f00::/16", "3fff::/20", "192.88.99.0/24",
         "168.63.129.16/32"),
    )
)  # fmt: skip
_LOCAL_NAMES = re.compile(r"(^|\.)(localhost|local|internal|localdomain|home\.arpa|lan|intranet)$")


class AddressUnknown(Exception):
    """The name does not resolve."""


class AddressPrivate(Exception):
    """The name resolves to an address that is not public."""


def resolve(host: str, port: int, *, allow_private: bool) -> str:
    """Return one address of the host; connect to it, so that the name is not resolved a second time.

    Raises: AddressUnknown; AddressPrivate when any of its addresses is private.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressUnknown(host) from None
    addresses = [str(address[0]).partition("%")[0] for *_, address in entries]
    if not allow_private and not all(is_public(ipaddress.ip_address(address)) for address in addresses):
        raise AddressPrivate(host)
    return addresses[0]


def without_user(url: str) -> str:
    """Return the URL without user and password, which no one is shown."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else url


def looks_private(host: str) -> bool:
    """Return whether a host is a private address in any spelling, or a non-public name; nothing is resolved."""
    host = host.rstrip(".").lower()
    address = _literal_address(host)
    if address is not None:
        return not is_public(address)
    return "." not in host or _LOCAL_NAMES.search(host) is not None


def is_link_local(address: str) -> bool:
    """Return whether an address is link-local, such as those where clouds serve machine credentials."""
    return ipaddress.ip_address(address).is_link_local


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address is reachable from anywhere, and not a private one in another spelling."""
    if any(address in network for network in _NEVER_PUBLIC):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


def _literal_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address of a literal host, in the short, octal and hexadecimal forms that resolvers accept too."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    parts = host.split(".")
    if len(parts) > 4 or not all(re.fullmatch(r"0[xX][0-9a-fA-F]*|\d+", part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
        value = numbers[-1]
        for position, number in enumerate(numbers[:-1]):
            value += number << (24 - 8 * position)
        return ipaddress.IPv4Address(value)
    except ValueError:
        return ipaddress.IPv4Address(0)  # spelled like an address, but none: not public


def _number(part: str) -> int:
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") and len(part) > 1 else int(part)
