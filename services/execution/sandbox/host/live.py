"""Output as it comes: whole characters, in few and bounded pieces."""

from __future__ import annotations

import codecs
import time
from typing import Literal

from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.run import OnOutput

_EVERY = 0.1  #: seconds between two pieces of one stream
_PIECE = 8_000  #: characters
_MOST = 256_000  #: characters in all; the result holds the rest
_STREAMS: tuple[Literal["stdout", "stderr"], ...] = ("stdout", "stderr")


class LiveOutput:
    def __init__(self, tell: OnOutput) -> None:
        self._tell = tell
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("backslashreplace") for name in _STREAMS}
        self._waiting = dict.fromkeys(_STREAMS, "")
        self._left = _MOST
        self._next = 0.0

    def add(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        if self._left > 0:
            text = escaped(self._decoders[stream].decode(data))[: self._left]
            self._left -= len(text)
            self._waiting[stream] += text
            self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        """Pass on what waits, if it waited long enough or is a whole piece."""
        for stream in _STREAMS:
            if self._waiting[stream] and (now >= self._next or len(self._waiting[stream]) >= _PIECE):
                self._pass_on(stream)
                self._next = now + _EVERY

    def end(self) -> None:
        for stream in _STREAMS:
            if self._left > 0:
                self._waiting[stream] += escaped(self._decoders[stream].decode(b"", True))
            self._pass_on(stream)

    def _pass_on(self, stream: Literal["stdout", "stderr"]) -> None:
        text, self._waiting[stream] = self._waiting[stream], ""
        for start in range(0, len(text), _PIECE):
            self._tell(stream, text[start : start + _PIECE])
