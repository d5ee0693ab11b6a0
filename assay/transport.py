"""Where the server is and which key to show; what the transport answers, in our words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import httpx2

from assay.calls.call import Reply
from assay.errors import APIConnectionError, APITimeoutError
from assay.exchange import error_of
from assay.installations import home_of, read_status

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    url: str
    api_key: str | None


def find_target(
    url: str | None = None, api_key: str | None = None, environment: Mapping[str, str] | None = None
) -> Target:
    """The installation's own key is shown to the installation's own URL only."""
    if url and api_key:
        return Target(url.rstrip("/"), api_key)
    env = os.environ if environment is None else environment
    given = url or env.get("ASSAY_URL") or None
    key = api_key or env.get("ASSAY_API_KEY") or None
    local = _local(home_of(env))
    if local is not None and (given is None or given.rstrip("/") == local.url.rstrip("/")):
        return Target(local.url.rstrip("/"), key or local.api_key)
    return Target((given or DEFAULT_URL).rstrip("/"), key)


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
