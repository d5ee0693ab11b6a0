"""Event streams on the wire (server-sent events, WHATWG HTML section 9.2), and the loop that each of them is."""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from fastapi import Response
from fastapi.responses import StreamingResponse

from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.http.open_streams import OpenStream
from shared.errors import DatabaseUnavailable

#: A silent stream says so often that it is alive: proxies cut what says nothing.
_COMMENT_SECONDS = 15.0
_COMMENT = b": still here\n\n"
_OPENING = b"retry: 1000\n\n"

#: Lines to Unicode, and so to many a client, though not to the standard of event streams.
_SEPARATORS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


@dataclass(frozen=True)
class News:
    """What a look for news has brought."""

    frames: Iterable[bytes] = ()
    seen: int = 0  #: the id of the last frame; the next look is for what comes after
    more: bool = False  #: whether to look again at once
    ended: bool = False  #: whether nothing can come any more


#: Looks for what has come after the frame with this id.
Look: TypeAlias = Callable[[int], Coroutine[Any, Any, News]]


def described(description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """What the API description says of the answer."""
    schema = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {"text/event-stream": schema}}}


def frame(id: int, event: str, data: Mapping[str, object]) -> bytes:
    """One event, its data as JSON on one line."""
    written = orjson.dumps(data, option=orjson.OPT_UTC_Z)
    for raw, escaped in _SEPARATORS:
        written = written.replace(raw, escaped)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (id, event.encode(), written)


async def stream(
    deps: Dependencies,
    caller: Caller,
    watched_id: str,
    first: News,
    look: Look,
    poll_seconds: float = _COMMENT_SECONDS,
) -> Response:
    """A stream of ``first``, and of what ``look`` brings whenever there is a notification of ``watched_id``.

    ``poll_seconds``: how long to wait for one before looking all the same. Raises: QuotaExceeded.
    """
    mine = deps.streams.open(caller.key_id, (await deps.quotas.limits(caller.tenant))["streams"])
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    frames = _frames(deps, mine, watched_id, first, look, poll_seconds)
    weakref.finalize(frames, deps.streams.close, mine)  # also when it is never begun
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _frames(
    deps: Dependencies,
    mine: OpenStream,
    watched_id: str,
    first: News,
    look: Look,
    poll_seconds: float,
) -> AsyncIterator[bytes]:
    deps.metrics.streams.inc()
    try:
        with deps.watchers.watch(watched_id) as changed:
            yield _OPENING
            spoke_at = time.monotonic()
            news = first
            mine.news = changed
            while not deps.closing.is_set() and not mine.ended:
                for each in news.frames:
                    yield each
                    spoke_at = time.monotonic()
                if news.ended:
                    return
                if not news.more:
                    silent_until = spoke_at + _COMMENT_SECONDS
                    await deps.watchers.wait(changed, min(poll_seconds, silent_until - time.monotonic()))
                    if time.monotonic() >= silent_until:
                        yield _COMMENT
                        spoke_at = time.monotonic()
                news = await _patient_look(deps, look, news.seen)
    finally:
        deps.metrics.streams.dec()
        deps.streams.close(mine)


async def _patient_look(deps: Dependencies, look: Look, seen: int) -> News:
    """What is new; nothing while Postgres is away, and the stream goes on when it is back."""
    try:
        # The client may be gone any moment, and with it the task that asks.
        return await deps.to_its_end(look(seen))
    except DatabaseUnavailable:
        return News(seen=seen)
