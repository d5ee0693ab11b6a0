"""Event streams on the wire (server-sent events, WHATWG HTML section 9.2)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
from fastapi import Response
from fastapi.responses import StreamingResponse

#: A silent stream says so often that it is alive: proxies cut what says nothing.
COMMENT_SECONDS = 15.0
COMMENT = b": still here\n\n"
OPENING = b"retry: 1000\n\n"

#: Lines to Unicode, and so to many a client, though not to the standard of event streams.
_SEPARATORS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def described(description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """What the API description says of the answer."""
    schema = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {"text/event-stream": schema}}}


def answer(stream: AsyncIterator[bytes]) -> Response:
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def frame(id: int, event: str, data: Mapping[str, object]) -> bytes:
    """One event, its data as JSON on one line."""
    written = orjson.dumps(data, option=orjson.OPT_UTC_Z)
    for raw, escaped in _SEPARATORS:
        written = written.replace(raw, escaped)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (id, event.encode(), written)
