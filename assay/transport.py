"""Between httpx2 and the client's core: replies, and the transport's errors in our words."""

from __future__ import annotations

from typing import NoReturn

import httpx2

from assay.calls.call import Reply
from assay.errors import APIConnectionError, APITimeoutError
from assay.exchange import error_of

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
