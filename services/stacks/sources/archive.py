"""An uploaded archive as a tree: nothing is extracted, and its bytes determine the format, never its name."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from services.stacks.sources.collector import Collector, Select, SourceLimits
from services.stacks.sources.compression import packing, plain_blocks
from services.stacks.sources.tar import looks_like_tar, read_tar
from services.stacks.tree import Tree
from shared.errors import SourceTooLarge, SourceUnreadable, UnknownArchiveFormat


def open_archive(
    stream: BinaryIO, select: Select, limits: SourceLimits, stop: Callable[[], bool] = lambda: False
) -> Tree:
    """Open an archive. Raises: UnknownArchiveFormat, SourceUnreadable, SourceTooLarge, JobCancelled."""
    collector = Collector(select, limits, stop=stop)
    head = stream.read(512)
    stream.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        read_zip(stream, collector)
        return collector.tree()
    blocks = plain_blocks(stream, packing(head), limits)
    if packing(head) is None:
        if not looks_like_tar(head) and not _empty_tar(head):
            raise UnknownArchiveFormat
    else:
        first = next(blocks, b"")
        while 0 < len(first) < 512 and (more := next(blocks, b"")):
            first += more
        if not looks_like_tar(first) and not _empty_tar(first):
            raise UnknownArchiveFormat
        blocks = _chain(first, blocks)
    if not _empty_tar(head):
        read_tar(blocks, collector)
    return collector.tree()


def _empty_tar(head: bytes) -> bool:
    return len(head) >= 512 and not head[:512].strip(b"\0")


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


_UNIX = 3


def read_zip(stream: BinaryIO, collector: Collector) -> None:
    """Read a zip file. Raises: SourceUnreadable when it is damaged or encrypted, SourceTooLarge."""
    _count_first(stream, collector)
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            if any(entry.flag_bits & 0x41 for entry in entries):
                raise SourceUnreadable("the archive is encrypted; upload it without a password")
            for entry in entries:
                collector.count()
                _entry(archive, entry, collector)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, zlib.error, RuntimeError):
        raise SourceUnreadable("the archive is damaged or cut off") from None


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, collector: Collector) -> None:
    name = entry.orig_filename
    if name.endswith("/"):
        collector.clean(name)
        return
    mode = entry.external_attr >> 16 if entry.create_system == _UNIX else 0
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        collector.refuse("a symbolic link" if stat.S_ISLNK(mode) else "a device", name)
        return
    if not entry.flag_bits & 0x800:  # most tools wrote UTF-8 before it had a flag
        name = name.encode("cp437", "replace").decode("utf-8", "surrogateescape")
    admitted = collector.admit(name, entry.file_size)
    if admitted and admitted[1]:
        path, wanted = admitted
        with archive.open(entry) as body:
            collector.kept.contents[path] = body.read(wanted)


def _count_first(stream: BinaryIO, collector: Collector) -> None:
    """Refuse a directory that is too long before it is turned into a million objects."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - (1 << 16) - 22))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise SourceUnreadable("the archive is damaged or cut off")
    entries = int.from_bytes(tail[at + 10 : at + 12], "little")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if (entries == 0xFFFF or directory == 0xFFFFFFFF) and wide >= 0:
        entries = int.from_bytes(tail[wide + 32 : wide + 40], "little")
        directory = int.from_bytes(tail[wide + 40 : wide + 48], "little")
    if entries > collector.limits.entries or directory > 400 * collector.limits.entries:
        raise SourceTooLarge(f"the archive holds more than {collector.limits.entries:,} entries")
    stream.seek(0)
