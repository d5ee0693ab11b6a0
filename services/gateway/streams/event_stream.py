"""Event streams on the wire (server-sent events, WHATWG HTML section 9.2), and the loop that each of them is."""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from fastapi import Response
from fastapi.responses import StreamingResponse

from services.gateway.admission.streams import OpenStream
from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.notifications import Watch, Watched
from shared.errors import DatabaseUnavailable

#: A silent stream sends a comment this often: proxies cut connections without traffic.
_COMMENT_SECONDS = 15.0
_COMMENT = b": still here\n\n"
_OPENING = b"retry: 1000\n\n"

#: Lines to Unicode, and so to many a client, though not to the standard of event streams.
_SEPARATORS = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


@dataclass(frozen=True)
class News:
    """The result of a poll for news."""

    frames: Iterable[bytes] = ()
    seen: int = 0  #: the id of the last frame; the next look is for what comes after
    more: bool = False  #: whether to look again at once
    ended: bool = False  #: whether nothing can come any more


#: Looks for what has come after the frame with this id.
Look: TypeAlias = Callable[[int], Coroutine[Any, Any, News]]


def described(description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """Return the response's entry in the API description."""
    schema = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {"text/event-stream": schema}}}


def frame(id: int, event: str, data: Mapping[str, object]) -> bytes:
    """Return one event, its data as JSON on one line."""
    written = orjson.dumps(data, option=orjson.OPT_UTC_Z)
    for raw, escaped in _SEPARATORS:
        written = written.replace(raw, escaped)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (id, event.encode(), written)


@dataclass(frozen=True)
class _Watched:
    tenant: str
    id: str
    look: Look
    of: Watched
    poll_seconds: float | None

    @property
    def looked_for(self) -> Watched | None:
        """As what one look for all of the gateway's streams finds it."""
        return self.of if self.poll_seconds is None else None


async def stream(
    deps: Dependencies,
    caller: Caller,
    watched_id: str,
    begin: Callable[[], Awaitable[News]],
    look: Look,
    poll_seconds: float | None = None,
    of: Watched = "job",
) -> Response:
    """Stream what ``begin`` returns, and ``look`` on each notification of ``watched_id``.

    A stream above the key's limit reads nothing: many at once must not wait for each other's connections.

    ``poll_seconds``: how long to wait for a notification before polling anyway. None for a job or a flow (``of``), for
    which all streams of the tenant poll together: their ``look`` must be the same. Raises: QuotaExceeded.
    """
    mine = deps.streams.open(caller.key_id, (await deps.quotas.limits(caller.tenant))["streams"])
    try:
        first = await begin()
    except BaseException:
        deps.streams.close(mine)
        raise
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    frames = _frames(deps, mine, _Watched(caller.tenant, watched_id, look, of, poll_seconds), first)
    weakref.finalize(frames, deps.streams.close, mine)  # also when it is never begun
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _frames(deps: Dependencies, mine: OpenStream, watched: _Watched, first: News) -> AsyncIterator[bytes]:
    deps.metrics.streams.inc()
    try:
        with deps.watchers.watch(watched.id, of=watched.looked_for) as watch:
            yield _OPENING
            spoke_at = time.monotonic()
            news = first
            mine.news = watch.changed
            while not deps.closing.is_set() and not mine.ended:
                for each in news.frames:
                    yield each
                    spoke_at = time.monotonic()
                if news.ended:
                    return
                changed = news.more
                if not news.more:
                    silent_until = spoke_at + _COMMENT_SECONDS
                    most = min(watched.poll_seconds or _COMMENT_SECONDS, silent_until - time.monotonic())
                    changed = await deps.watchers.wait(watch, most) or watched.looked_for is None
                    if time.monotonic() >= silent_until:
                        yield _COMMENT
                        spoke_at = time.monotonic()
                news = await _patient_look(deps, watched, news.seen, watch) if changed else News(seen=news.seen)
    finally:
        deps.metrics.streams.dec()
        deps.streams.close(mine)


async def _patient_look(deps: Dependencies, watched: _Watched, seen: int, watch: Watch) -> News:
    """Return the news; empty while Postgres is unreachable, and the stream continues when it is back."""
    try:
        # The client may disconnect at any time, which cancels the calling task.
        if watched.looked_for is None:
            return await deps.to_its_end(watched.look(seen))
        # What woke them is part of the key: an earlier look may have missed it.
        return await deps.together((watched.tenant, watched.id, seen, watch.woken), lambda: watched.look(seen))
    except DatabaseUnavailable:
        watch.wake_soon()
        return News(seen=seen)
