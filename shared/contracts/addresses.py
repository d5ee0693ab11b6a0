"""Which hosts are private: nobody may make a server call them."""

from __future__ import annotations

import ipaddress
import re

#: How IPv4 addresses were once written in IPv6; nobody public has one.
_COMPATIBLE = ipaddress.ip_network("::/96")
_LOCAL_NAMES = re.compile(r"(^|\.)(localhost|local|internal|localdomain|home\.arpa|lan|intranet)$")


def private_by_its_looks(host: str) -> bool:
    """Whether a host is a private address in any spelling, or a name that no public host has; nothing is asked."""
    host = host.rstrip(".").lower()
    address = _literal_address(host)
    if address is not None:
        return not public_address(address)
    return "." not in host or _LOCAL_NAMES.search(host) is not None


def public_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is reachable from anywhere, and not a private one in another spelling."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _COMPATIBLE:
            return False
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return public_address(inner)
    return address.is_global and not address.is_multicast


def _literal_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host spells out, in the short, octal and hexadecimal forms that resolvers accept too."""
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
