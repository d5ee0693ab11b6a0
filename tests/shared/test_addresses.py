"""Which addresses a server may be made to call: public ones, whatever their spelling."""

from __future__ import annotations

import ipaddress

import pytest

from shared.addresses import AddressPrivate, AddressUnknown, is_public, looks_private, resolve


def test_public_means_public() -> None:
    assert is_public(ipaddress.ip_address("8.8.8.8"))
    for text in ("10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::", "224.0.0.1", "fc00::1", "fec0::1",
                 "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1",
                 "5f00::1", "3fff::1", "192.88.99.1", "168.63.129.16"):  # fmt: skip
        assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "0x7f.1", "017700000001", "2130706433", "::1", "10.0.0.1.", "999.1.1.1", "LOCALHOST", "db",
     "printer.local", "metadata.internal"],
)  # fmt: skip
def test_a_private_host_is_known_in_every_spelling(host: str) -> None:
    assert looks_private(host)


@pytest.mark.parametrize("host", ["example.com", "1.1.1.1", "2606:4700:4700::1111", "localhost.example.com"])
def test_other_hosts_are_left_to_the_resolver(host: str) -> None:
    assert not looks_private(host)


def test_a_host_resolves_to_one_checked_address() -> None:
    assert resolve("1.1.1.1", 443, allow_private=False) == "1.1.1.1"
    assert resolve("127.0.0.1", 443, allow_private=True) == "127.0.0.1"
    with pytest.raises(AddressPrivate):
        resolve("127.0.0.1", 443, allow_private=False)
    with pytest.raises(AddressUnknown):
        resolve("a..b", 443, allow_private=False)
