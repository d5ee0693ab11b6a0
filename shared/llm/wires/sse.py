"""Server-sent events from bytes, as the HTML standard reads them (section 9.2.6).

The text is UTF-8, whatever the headers say. Lines end with CR, LF or CRLF, and with nothing else: U+2028, U+2029 and
U+0085 are characters of a line, which Python's own line splitting takes for its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class SseEvent:
    """One event; ``name`` is empty where the server gives it none."""

    name: str
    data: str


@dataclass
class SseDecoder:
    """Bytes in, in any pieces; events out. Comments, ``id``, ``retry`` and events without data are skipped."""

    _line: list[bytes] = field(default_factory=list)  #: the pieces of a line that has no end yet
    _data: list[bytes] = field(default_factory=list)
    _name: bytes = b""
    _begun: bool = False  #: the first line was read, so no byte order mark may follow
    _after_cr: bool = False  #: the last byte was a CR, so an LF belongs to it
    stray: bytes = b""  #: the last line that is not part of an event but looks like JSON

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Yield the events that the chunk completes. Raises: UnicodeDecodeError."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        first, *lines = _LINE_END.split(chunk)
        self._line.append(first)
        for line in lines:
            if (event := self._take(b"".join(self._line))) is not None:
                yield event
            self._line = [line]

    def end(self) -> SseEvent | None:
        """Return the event whose blank line is missing at the end. Raises: UnicodeDecodeError."""
        last, self._line = b"".join(self._line), []
        return (self._take(last) if last else None) or self._take(b"")

    def _take(self, line: bytes) -> SseEvent | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            while value.startswith(b"data:"):  # a proxy that wraps events once more
                value = value[5:].removeprefix(b" ")
            self._data.append(value)
        elif name == b"event":
            self._name = value
        elif line.startswith(b"{"):
            self.stray = line
        elif name == b"error" and value.startswith(b"{"):  # older servers of llama.cpp
            self.stray = value
        return None

    def _event(self) -> SseEvent | None:
        data, name = b"\n".join(self._data), self._name
        self._data, self._name = [], b""
        if not data.strip():
            return None
        return SseEvent(name.decode("utf-8", "replace"), data.decode())
