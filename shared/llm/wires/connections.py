"""Connections that failed, in words for the person who can fix them: each cause has its own."""

from __future__ import annotations

import errno
import socket
import ssl

from shared.llm import faults
from shared.llm.call_clock import Watch
from shared.llm.faults import ProviderFault

#: Names of httpx, httpx2 and the SDKs for a connection that failed.
_NETWORK = frozenset(
    {
        "APIConnectionError",
        "ConnectError",
        "ReadError",
        "WriteError",
        "CloseError",
        "ProxyError",
        "RemoteProtocolError",
        "LocalProtocolError",
        "UnsupportedProtocol",
        "InvalidURL",
        "StreamError",
        "StreamClosed",
    }
)
_TIMEOUTS = frozenset({"APITimeoutError", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"})
_MIDDLE = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})
_ADDRESS = "check its address"
_PROXY = "The proxy of the environment refused to connect to it: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."


def of_connection(error: Exception, watch: Watch) -> ProviderFault | None:  # noqa: PLR0911 - one for each kind
    """Return the fault of a failed connection; None for an exception that is of no connection."""
    links = chain_of(error)
    kinds = {type(link).__name__ for link in links}
    if "UnicodeEncodeError" in kinds or ("LocalProtocolError" in kinds and not watch.received):
        return faults.InvalidKey("The API key or the address holds characters that an HTTP request cannot carry.")
    tls = next((link for link in links if isinstance(link, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError) or (tls is not None and watch.stage == "tls"):
        return faults.ConnectionFailed(_tls(tls))
    if kinds & _TIMEOUTS:
        return faults.TimedOut(_too_late(kinds, watch))
    if not kinds & _NETWORK and not any(isinstance(link, OSError) for link in links):
        return None
    if "ProxyError" in kinds:
        return faults.ConnectionFailed(_PROXY)
    if watch.received:
        return faults.StreamCut("The connection was cut in the middle of the answer.")
    if kinds & _MIDDLE and not watch.connected:
        return faults.StaleConnection("A kept connection had been closed.")
    if kinds & _MIDDLE and watch.stage != "tls":
        return faults.StreamCut("The connection was cut before the answer (reset by the server or by what is between).")
    return faults.ConnectionFailed(_unreached(links, kinds, watch))


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = (error.verify_message or "not trusted").rstrip(".")
        return (
            f"Its TLS certificate was not accepted ({reason}). Behind an intercepting proxy, or for a server with a "
            "private certificate, set SSL_CERT_FILE to the file of its certificate authority."
        )
    reason = (error.reason or "").replace("_", " ").lower() or "no reason given"
    return f"The TLS handshake failed ({reason}): check whether its address is http or https, and its port."


def _too_late(kinds: set[str], watch: Watch) -> str:
    if "ConnectTimeout" in kinds and watch.stage == "tls":
        return "It accepted the connection but did not complete the TLS handshake in time: is its port https?"
    if "ConnectTimeout" in kinds:
        return "It did not accept the connection in time: check its address, and firewalls between."
    if "PoolTimeout" in kinds:
        return "No connection to it became free in time."
    return "It did not answer in time."


def _unreached(links: list[BaseException], kinds: set[str], watch: Watch) -> str:  # noqa: PLR0911 - one for each cause
    if kinds & {"UnsupportedProtocol", "InvalidURL"}:
        return f"Its address is not a valid http or https URL: {_ADDRESS}."
    if any(isinstance(link, socket.gaierror) for link in links):
        return f"Its host name does not resolve (DNS): {_ADDRESS}, and the name servers of this machine."
    for link in links:
        if isinstance(link, ConnectionRefusedError):
            return f"It refused the connection: nothing listens at its port. {_ADDRESS.capitalize()}, and that it runs."
        if isinstance(link, ConnectionResetError | BrokenPipeError):
            what = "during the TLS handshake" if watch.stage == "tls" else "before the request was sent"
            return f"The connection was reset {what}: {_ADDRESS}, and firewalls between."
        if isinstance(link, OSError) and link.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return "There is no route to its address: check the network of this machine."
    if watch.stage == "tls":
        return "It closed the connection during the TLS handshake: check whether its address is http or https."
    return f"It cannot be reached: {_ADDRESS} and the network."


def chain_of(error: BaseException | None) -> list[BaseException]:
    """Return the exception and what caused it."""
    links: list[BaseException] = []
    while error is not None and len(links) < 10:
        links.append(error)
        error = error.__cause__ or error.__context__
    return links
