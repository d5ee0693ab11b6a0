"""A program's output: bounded, head and tail, reported as it comes, and escaped where it is not plain text."""

from __future__ import annotations

import codecs
import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from services.execution.sandbox.run import OnOutput

# Control characters but tab, newline and carriage return; C1; and what cannot be encoded.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def escaped(text: str) -> str:
    """NUL, ANSI sequences and their kin as visible escapes."""
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    number = ord(match.group())
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


@dataclass
class Capture:
    """One stream: the first and the last bytes of it, never more than ``cap`` in all."""

    cap: int
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: deque[bytes] = field(default_factory=deque)
    _tail_size: int = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        space = self.cap - self.cap // 2 - len(self._head)
        if space > 0:
            self._head += data[:space]
            data = data[space:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self.cap // 2:
            self._tail_size -= len(self._tail.popleft())

    def length(self, size: int) -> int:
        """Return how many characters the first ``size`` bytes are as text, of a stream that is not cut."""
        return len(_readable((bytes(self._head) + b"".join(self._tail))[:size]))

    def text(self, budget: int) -> tuple[str, bool]:
        """Return at most ``budget`` bytes of text, and whether anything is missing."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if self.total <= len(head) + len(tail) and self.total <= budget:
            whole = _readable(head + tail)
            if len(whole.encode()) <= budget:
                return whole, False
        return _cut(head, tail, self.total, budget), True


def _readable(data: bytes) -> str:
    return escaped(data.decode("utf-8", "backslashreplace"))


def _cut(head: bytes, tail: bytes, total: int, budget: int) -> str:
    mark = f"\n... cut: {total} bytes in all ...\n"
    space = max(0, budget - len(mark)) // 2
    if not tail:
        head, tail = head[: len(head) // 2], head[len(head) // 2 :]
    first = _readable(head[:space]).encode()[:space].decode(errors="ignore")
    last = _readable(tail[len(tail) - min(space, len(tail)) :]).encode()
    shown = last[len(last) - min(space, len(last)) :].decode(errors="ignore")
    return f"{first}{mark if budget > len(mark) else ''}{shown}"


def both(stdout: Capture, stderr: Capture, cap: int) -> tuple[str, str, bool]:
    """Return the two streams within one cap: the smaller one keeps its half, the larger one gets the rest."""
    small, large = sorted((stdout, stderr), key=lambda stream: stream.total)
    small_text, small_cut = small.text(cap // 2 if large.total > cap // 2 else cap)
    large_text, large_cut = large.text(cap - len(small_text.encode()))
    texts = {id(small): small_text, id(large): large_text}
    return texts[id(stdout)], texts[id(stderr)], small_cut or large_cut


_EVERY = 0.1  #: seconds between two pieces of one stream
_PIECE = 3_500  #: characters: an event of 16,000 bytes holds them whole, whichever they are
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
