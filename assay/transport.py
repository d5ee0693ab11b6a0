"""Where the server is and which key to show; what the transport answers, in our words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import httpx2

from assay import profiles
from assay.calls.call import Reply
from assay.errors import APIConnectionError, APITimeoutError
from assay.exchange import error_of
from assay.installations import home_of, near_home, read_status
from assay.profiles import Profile

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    url: str
    api_key: str | None


def find_target(
    url: str | None = None,
    api_key: str | None = None,
    environment: Mapping[str, str] | None = None,
    profile: str | None = None,
) -> Target:
    """What is given, else the profile that is named (also by ASSAY_PROFILE), else ASSAY_URL and ASSAY_API_KEY, else the
    installation in ASSAY_HOME or in ``.assay`` here or above, else the default profile, else the one started last.

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
    """The profile that is named, or the default where nothing else says which server is meant. Raises: ProfileError."""
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
    """What the supervisor wrote about itself."""
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


def fault_of(fault: Exception) -> APIConnectionError:
    """The transport's error in our words; its own text may hold addresses, but they are the caller's."""
    if isinstance(fault, httpx2.TimeoutException):
        return APITimeoutError("the server did not answer in time")
    return APIConnectionError(f"the server cannot be reached: {fault}")
