"""A packed stream as plain bytes, in blocks, with an eye on how much comes out of how little."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from services.stacks.sources.collector import SourceLimits
from shared.errors import SourceTooLarge, SourceUnreadable

BLOCK = 1 << 20
_RATIO_FROM = 256 << 20

#: What the strongest preset of ``xz`` takes, several times over.
_XZ_MEMORY = 256 << 20

MAGIC = ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))


def packing(head: bytes) -> str | None:
    return next((name for magic, name in MAGIC if head.startswith(magic)), None)


def plain_blocks(stream: BinaryIO, how: str | None, limits: SourceLimits) -> Iterator[bytes]:
    """Yield the unpacked blocks. Raises: SourceUnreadable (broken or cut), SourceTooLarge (a bomb)."""
    if how is None:
        while block := stream.read(BLOCK):
            yield block
        return
    taken = given = 0
    try:
        for block, used in _unpacked(stream, how):
            taken, given = used, given + len(block)
            if given > limits.unpacked_bytes:
                raise SourceTooLarge(f"the archive unpacks to more than {limits.unpacked_bytes >> 30} GB")
            if given > _RATIO_FROM and given > limits.ratio * max(taken, 1):
                raise SourceTooLarge(f"the archive unpacks to more than {limits.ratio} times its size")
            yield block
    except (zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, ValueError):
        raise SourceUnreadable("the archive is damaged or cut off") from None


def _unpacked(stream: BinaryIO, how: str) -> Iterator[tuple[bytes, int]]:
    if how == "gz":
        yield from _gzip(stream)
        return
    if how == "xz":
        yield from _xz(stream)
        return
    reader: bz2.BZ2File | zstandard.ZstdDecompressionReader
    if how == "zst":
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(stream, read_across_frames=True)
    else:
        reader = bz2.BZ2File(stream)
    with reader:
        while block := reader.read(BLOCK):
            yield block, stream.tell()


def _xz(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """xz by hand: the module's file object takes as much memory as the archive says it needs."""
    taken, packed = 0, b""
    unpack: lzma.LZMADecompressor | None = None
    while True:
        if unpack is None:
            packed = (packed or stream.read(1 << 17)).lstrip(b"\0")  # streams may follow each other, and be padded
            taken = stream.tell() - len(packed)
            if not packed:
                return
            unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        if unpack.needs_input and not packed:
            packed = stream.read(1 << 17)
            taken = stream.tell()
            if not packed:
                raise EOFError
        try:
            block = unpack.decompress(packed, BLOCK)
        except lzma.LZMAError as error:
            if "emory" in str(error):
                raise SourceTooLarge(f"the archive takes more than {_XZ_MEMORY >> 20} MB of memory to unpack") from None
            raise
        packed = b""
        if unpack.eof:
            packed, unpack = unpack.unused_data, None
        if block:
            yield block, taken


def _gzip(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """gzip by hand: the module's file object copies every block twice."""
    taken, packed = 0, b""
    unpack = zlib.decompressobj(31)
    fresh = True
    while True:
        if not packed:
            packed = stream.read(1 << 17)
            taken += len(packed)
            if not packed:
                break
        if unpack.eof:
            packed = packed.lstrip(b"\0")
            if not packed:
                continue
            if not packed.startswith(b"\x1f"):
                return  # padding of another kind after the last member
            unpack, fresh = zlib.decompressobj(31), True
        block = unpack.decompress(packed, BLOCK)
        fresh = False
        packed = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
        if block:
            yield block, taken
    if not unpack.eof and not fresh:
        raise EOFError
