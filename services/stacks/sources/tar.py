"""A tar stream read once, block by block: names, sizes, and the bytes of what is worth keeping."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from services.stacks.sources.collector import Collector
from shared.errors import SourceUnreadable

_MAX_HEADER = 1 << 20  #: A long name or a pax header beyond this is an attack.
_FILES = frozenset((b"0", b"\0", b"7"))
_SKIPPED = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


class Blocks:
    """Reads exact numbers of bytes from blocks of any size."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes, fewer at the end of the stream."""
        end = self._at + count
        if end <= len(self._block):
            taken = self._block[self._at : end]
            self._at = end
            return taken
        parts = [self._block[self._at :]]
        missing = count - len(parts[0])
        while missing > 0:
            self._block = next(self._blocks, b"")
            if not self._block:
                self._at = 0
                break
            parts.append(self._block[:missing])
            self._at = len(parts[-1])
            missing -= self._at
        return b"".join(parts)

    def skip(self, count: int) -> bool:
        """Pass over ``count`` bytes; False when the stream ended before."""
        left = len(self._block) - self._at
        while left < count:
            count -= left
            self._block, self._at = next(self._blocks, b""), 0
            left = len(self._block)
            if not left:
                return count == 0
        self._at += count
        return True


def read_tar(blocks: Iterator[bytes], collector: Collector) -> None:
    """Read a tar archive. Raises: SourceUnreadable when a header is damaged or the archive is cut off,
    SourceTooLarge.
    """
    stream = Blocks(blocks)
    long_name: str | None = None
    pax: dict[str, str] = {}
    first = True
    while True:
        header = stream.take(512)
        if len(header) < 512:
            if first or header:
                raise SourceUnreadable("the archive is damaged or cut off")
            return  # some writers leave the closing blocks out
        if header[0] == 0 and not header.strip(b"\0"):
            while any(True for block in iter(lambda: stream.take(1 << 20), b"")):
                pass  # to the end, so that a damaged stream is noticed
            return
        if not _sound(header):
            raise SourceUnreadable("the archive holds a damaged header")
        first = False
        collector.count()
        kind, size = header[156:157], _number(header[124:136])
        if kind in b"LKxg" and kind:
            long_name, pax = _extension(stream, kind, size, long_name, pax)
            continue
        size = int(pax.get("size", size)) if pax.get("size", "0").isdigit() else size
        if size < 0:
            raise SourceUnreadable("the archive holds a damaged header")
        name = pax.get("path") or long_name or _name(header)
        long_name, pax = None, {}
        _entry(stream, collector, kind, name, size)


def _entry(stream: Blocks, collector: Collector, kind: bytes, name: str, size: int) -> None:
    padded = -(-size // 512) * 512
    if kind in _FILES and not name.endswith("/"):
        admitted = collector.admit(name, size)
        if admitted and admitted[1]:
            path, wanted = admitted
            body = stream.take(wanted)
            if len(body) < wanted:
                raise SourceUnreadable("the archive is damaged or cut off")
            collector.kept.contents[path] = body
            padded -= wanted
    else:
        if kind in _SKIPPED:
            collector.refuse(_SKIPPED[kind], name)
        elif kind == b"5":
            collector.clean(name)
        padded = 0 if kind in b"123456" else padded
    if padded and not stream.skip(padded):
        raise SourceUnreadable("the archive is damaged or cut off")


def _extension(
    stream: Blocks, kind: bytes, size: int, long_name: str | None, pax: dict[str, str]
) -> tuple[str | None, dict[str, str]]:
    """Read a header that describes the next entry: GNU's long names and pax records."""
    if not 0 <= size <= _MAX_HEADER:
        raise SourceUnreadable("the archive holds an oversized header")
    body = stream.take(size)
    if len(body) < size or not stream.skip(-size % 512):
        raise SourceUnreadable("the archive is damaged or cut off")
    if kind == b"L":
        return body.rstrip(b"\0").decode("utf-8", "surrogateescape"), pax
    if kind == b"x":
        return long_name, _pax(body)
    return long_name, pax


def _pax(body: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    at = 0
    while at < len(body):
        length, space, _ = body[at : at + 20].partition(b" ")
        if not space or not length.isdigit() or int(length) < 5:
            break
        record = body[at + len(length) + 1 : at + int(length) - 1]
        key, _, value = record.partition(b"=")
        records[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        at += int(length)
    return records


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    if header[257:262] == b"ustar" and header[345] and header[257:265] != b"ustar  \0":
        name = header[345:500].split(b"\0", 1)[0] + b"/" + name
    return name.decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x3F]) + field[1:], "big") if not field[0] & 0x40 else -1
    digits = field.split(b"\0", 1)[0].strip()
    try:
        return int(digits or b"0", 8)
    except ValueError:
        raise SourceUnreadable("the archive holds a damaged header") from None


def _sound(header: bytes) -> bool:
    try:
        stated = int(header[148:156].split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError:
        return False
    # The lower half of Adler-32 is the sum of all bytes, from 1 and modulo 65521: ten times as fast as adding up.
    actual = zlib.adler32(header[:148] + b" " * 8 + header[156:]) & 0xFFFF
    return (stated + 1) % 65521 == actual


def looks_like_tar(head: bytes) -> bool:
    return len(head) >= 512 and _sound(head[:512]) and head[0] != 0
