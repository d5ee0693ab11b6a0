"""Where the server is and which key to show; what the transport answers, in our words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from assay import profiles
from assay.calls.call import Reply
from assay.errors import APIConnectionError, APITimeoutError, status_error
from assay.exchange import error_of
from assay.installations import home_of, near_home, read_status
from assay.profiles import Profile
from shared.pasted import bare

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    """A server and the key to show it, as people have them: with white space around, from a file or a page.

    Raises: ValueError for an address that cannot be one; NotAuthenticated for a key that no server ever gave.
    """

    url: str
    api_key: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", _address(self.url))
        object.__setattr__(self, "api_key", _key(self.api_key))

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, which no proxy can reach for us."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def proxy(self) -> str | None:
        """Return the variable and the URL of the proxy in use, without a password; None without a proxy."""
        if (used := self._proxy()) is None:
            return None
        variable, url = used
        try:
            parts = urlsplit(url)
            address = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
        except ValueError:  # it is not an address, and may hold a password
            return variable
        return f"{variable} ({parts.scheme}://{address})"

    @property
    def proxy_url(self) -> str | None:
        """Return the URL of the proxy in use, with its password; None without a proxy."""
        used = self._proxy()
        return used[1] if used else None

    def _proxy(self) -> tuple[str, str] | None:
        parts = urlsplit(self.url)
        if self.is_loopback or proxy_bypass(parts.hostname or ""):
            return None
        named = getproxies()
        for scheme in (parts.scheme, "all"):
            if url := named.get(scheme):
                return f"{scheme.upper()}_PROXY", url if "://" in url else f"http://{url}"
        return None


def _address(url: str) -> str:
    url = bare(url).rstrip("/")
    shown = url.rpartition("@")[2]  # before it may be a password
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError as error:
        raise ValueError(f"the server's address {shown!r} is not one: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, url)):
        raise ValueError(f"the server's address {shown!r} has to begin with http:// or https://")
    return url


def _key(key: str | None) -> str | None:
    key = bare(key or "")
    if not all("!" <= letter <= "~" for letter in key):
        detail = "The API key has a character that no key has: white space, or a letter beyond ASCII. Copy it again."
        raise status_error(401, {"code": "not_authenticated", "title": "Not authenticated", "detail": detail}, {})
    return key or None


def find_target(
    url: str | None = None,
    api_key: str | None = None,
    environment: Mapping[str, str] | None = None,
    profile: str | None = None,
) -> Target:
    """Return the server to use: the given URL and key, else the named profile (also by ASSAY_PROFILE), else ASSAY_URL
    and ASSAY_API_KEY, else the installation in ASSAY_HOME or in ``.assay`` here or above, else the default profile,
    else the installation started last.

    A key is shown to its own URL only: an installation's, and a profile's. Raises: ProfileError.
    """
    if url and api_key:
        return Target(url.rstrip("/"), api_key)
    env = os.environ if environment is None else environment
    if chosen := chosen_profile(profile, env):
        return _of_profile(chosen, url, api_key, env)
    given = url or env.get("ASSAY_URL") or None
    key = api_key or env.get("ASSAY_API_KEY") or None
    local = _local(home_of(env))
    if local is not None and (given is None or given.rstrip("/") == local.url.rstrip("/")):
        return Target(local.url.rstrip("/"), key or local.api_key)
    return Target((given or DEFAULT_URL).rstrip("/"), key)


def chosen_profile(profile: str | None, env: Mapping[str, str]) -> Profile | None:
    """Return the profile that is named, or the default when nothing else selects a server. Raises: ProfileError."""
    if name := profile or env.get("ASSAY_PROFILE"):
        return profiles.read(env).profile(name)
    if env.get("ASSAY_URL") or env.get("ASSAY_HOME") or near_home() is not None:
        return None
    config = profiles.read(env)
    return config.profile(config.default) if config.default else None


def _of_profile(profile: Profile, url: str | None, api_key: str | None, env: Mapping[str, str]) -> Target:
    own, other = profile.url.rstrip("/"), (url or profile.url).rstrip("/")
    if api_key or other != own:
        return Target(other, api_key)
    return Target(own, profile.api_key(env))


def _local(home: Path) -> Target | None:
    """Return the target that the supervisor's status file describes."""
    status = read_status(home) or {}
    url = status.get("url")
    return Target(url, status.get("api_key")) if isinstance(url, str) else None


CHUNK_BYTES = 256 * 1024


class EndOfEvents(Exception):
    """A stream was silent because everything in it had been seen before."""


def refuse(reply: Reply) -> NoReturn:
    """Raise what an event stream's status means: another try for a busy server, else the error."""
    if reply.status == 429 or reply.status >= 500:
        raise httpx2.ReadError("the server is busy")
    raise error_of(reply)


def reply_of(response: httpx2.Response, body: bytes) -> Reply:
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def fault_of(fault: Exception, target: Target) -> APIConnectionError:
    """Describe a transport error in plain words; its own text may hold addresses, but they are the caller's."""
    through = f" through the proxy of {target.proxy}" if target.proxy else ""
    unreachable = f"the server at {target.url} cannot be reached{through}"
    if isinstance(fault, httpx2.TimeoutException):
        return APITimeoutError(f"the server at {target.url} did not answer in time{through}")
    if isinstance(fault, httpx2.LocalProtocolError):  # its text repeats headers, and so the key
        return APIConnectionError("the request cannot be sent: a header of it is malformed")
    if "WRONG_VERSION_NUMBER" in str(fault):  # an answer without TLS
        return APIConnectionError(f"{unreachable}: it does not speak TLS; try http:// instead")
    return APIConnectionError(f"{unreachable}: {fault}")


@contextmanager
def usable_proxy(target: Target) -> Iterator[None]:
    """Raise ValueError naming the proxy of the environment when a client cannot be made with it."""
    try:
        yield
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        if target.proxy is None:
            raise
        why = (
            "SOCKS needs the package socksio" if isinstance(error, ImportError) else "it is not the address of a proxy"
        )
        host = urlsplit(target.url).hostname
        raise ValueError(
            f"the proxy of {target.proxy} cannot be used: {why}; if no proxy is needed: NO_PROXY={host}"
        ) from None


def answer_of_proxy(reply: Reply, target: Target) -> APIConnectionError | None:
    """Return the error for an answer that the proxy gave; None when Assay gave it."""
    if reply.status < 400 or "x-request-id" in reply.headers or (proxy := target.proxy) is None:
        return None
    host = urlsplit(target.url).hostname
    return APIConnectionError(
        f"the proxy of {proxy} answered {reply.status}, not Assay at {host}; if no proxy is needed: NO_PROXY={host}"
    )
