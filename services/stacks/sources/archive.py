"""An uploaded archive of any format as a tree; the format is recognised by its bytes, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from services.stacks.sources.collector import Collector, Limits, Select
from services.stacks.sources.compression import packing, plain_blocks
from services.stacks.sources.tar import looks_like_tar, read_tar
from services.stacks.sources.zip import read_zip
from services.stacks.tree import Tree
from shared.errors import AssayError


class UnknownFormat(AssayError):
    code, title, status = "unknown_archive_format", "That is no archive that Assay reads", 422

    def __init__(self) -> None:
        super().__init__("upload a tar (plain, gz, bz2, xz or zst) or a zip archive")


def open_archive(stream: BinaryIO, select: Select, limits: Limits, stop: Callable[[], bool] = lambda: False) -> Tree:
    """Raises: UnknownFormat, SourceUnreadable, SourceTooLarge, JobCancelled."""
    collector = Collector(select, limits, stop=stop)
    head = stream.read(512)
    stream.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        read_zip(stream, collector)
        return collector.tree()
    blocks = plain_blocks(stream, packing(head), limits)
    if packing(head) is None:
        if not looks_like_tar(head) and not _empty_tar(head):
            raise UnknownFormat
    else:
        first = next(blocks, b"")
        while 0 < len(first) < 512 and (more := next(blocks, b"")):
            first += more
        if not looks_like_tar(first) and not _empty_tar(first):
            raise UnknownFormat
        blocks = _chain(first, blocks)
    if not _empty_tar(head):
        read_tar(blocks, collector)
    return collector.tree()


def _empty_tar(head: bytes) -> bool:
    return len(head) >= 512 and not head[:512].strip(b"\0")


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
