"""What an upload says of its file: its part of a streamed form, its name, which is only ever a label, and its type."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from shared.errors import InvalidRequest

_MAX_HEADER_BYTES = 16_384
_FIELD = b"file"


@dataclass
class Part:
    """What the form says of its file."""

    name: str | None = None
    media_type: str | None = None


class FilePart:
    """Reads the field ``file`` out of a form's body; ``part`` is known once the first chunk has come."""

    def __init__(self, content_type: str, body: AsyncIterator[bytes]) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _unfit("the Content-Type of a form needs a boundary")
        self.part = Part()
        self._body = body
        self._header = bytearray()
        self._value = bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._wanted = False
        self._found = False
        self._ended = False
        self._ready: list[bytes] = []
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._data,
                "on_end": self._end,
            },
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the file's bytes. Raises: InvalidRequest when the form is broken or has no file."""
        async for chunk in self._body:
            try:
                self._parser.write(chunk)
            except MultipartParseError:
                raise _unfit("the form cannot be read") from None
            ready, self._ready = self._ready, []
            for piece in ready:
                yield piece
        if not self._ended:
            raise _unfit("the form ends too early")
        if not self._found:
            raise _unfit("the form has no field called file")

    def _begin(self) -> None:
        self._headers = {}
        self._wanted = False

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._grow(self._header, data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._grow(self._value, data[start:end])

    def _grow(self, text: bytearray, more: bytes) -> None:
        text += more
        if len(text) > _MAX_HEADER_BYTES:
            raise _unfit("a header of the form is too long")

    def _header_end(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        if options.get(b"name") != _FIELD:
            return
        if self._found:
            raise _unfit("the form has more than one file")
        self._found = self._wanted = True
        name = options.get(b"filename")
        self.part.name = name.decode("utf-8", "replace") if name else None
        self.part.media_type = self._headers.get(b"content-type", b"").decode("latin-1") or None

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted:
            self._ready.append(data[start:end])

    def _end(self) -> None:
        self._ended = True


def _unfit(message: str) -> InvalidRequest:
    return InvalidRequest(f"body.file: {message}", [(["body", "file"], message)])


_LONGEST = 255
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_NAMELESS = "file"
_UNKNOWN = "application/octet-stream"


#: What clients send by default.
_UNTOLD = {_UNKNOWN, "application/x-www-form-urlencoded"}


def safe_name(name: str | None) -> str:
    """Return the last part of the given path, without control characters; ``file`` when nothing is left."""
    last = re.split(r"[/\\\\]", name or "")[-1]
    visible = "".join(char for char in last if unicodedata.category(char)[0] != "C" or char == "\u200d")
    cut = visible.strip()
    if not cut.strip("."):
        return _NAMELESS
    while len(cut.encode()) > _LONGEST:
        stem, dot, ending = cut.rpartition(".")
        cut = f"{stem[:-1]}{dot}{ending}" if stem and len(ending) < 20 else cut[:-1]
    return cut


def media_type(given: str | None, name: str) -> str:
    """Return the client's media type if it gave one; else that of the name's ending."""
    said = (given or "").partition(";")[0].strip().lower()
    if _MEDIA_TYPE.fullmatch(said) and said not in _UNTOLD:
        return said
    return mimetypes.guess_type(name)[0] or _UNKNOWN


def disposition(name: str) -> str:
    """``Content-Disposition`` of a download, whatever characters the name has."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
