"""A table's file that came packed: one file within gzip or zip."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, BinaryIO

from .source import MAX_TABLE_BYTES, Unreadable

_CHUNK = 1 << 20
_DAMAGED = (zlib.error, zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


@contextmanager
def unpacked(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the only file that a gzip or zip archive holds, and its name; any other file as it is.

    Raises: Unreadable when it is damaged, too large, or holds several files.
    """
    if not path.is_file() or not (kind := _kind(path)):
        yield path, name
        return
    with TemporaryDirectory() as folder:
        target = Path(folder) / "unpacked"
        with path.open("rb") as packed:
            inner = (_of_gzip if kind == "gzip" else _of_zip)(packed, name, target)
        yield target, inner


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head != b"PK\x03\x04":
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return ""
    is_office = any(name.startswith(("xl/", "word/", "ppt/", "content.xml", "mimetype")) for name in names)
    return "" if is_office else "zip"


def _of_gzip(packed: BinaryIO, name: str, target: Path) -> str:
    try:
        with gzip.GzipFile(fileobj=packed) as content:
            _copy(content, target)
    except _DAMAGED:
        raise Unreadable("the gzip archive is damaged") from None
    return name[:-3] if name.lower().endswith(".gz") else name


def _of_zip(packed: BinaryIO, name: str, target: Path) -> str:
    try:
        with zipfile.ZipFile(packed) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
            if len(files) != 1:
                shown = ", ".join(repr(entry.filename[:100]) for entry in files[:5])
                raise Unreadable(f"the zip archive holds {len(files)} files ({shown}): give the one to read")
            if files[0].flag_bits & 1:
                raise Unreadable("the zip archive is encrypted")
            with archive.open(files[0]) as content:
                _copy(content, target)
    except _DAMAGED:
        raise Unreadable("the zip archive is damaged") from None
    return PurePosixPath(files[0].filename).name


def _is_hidden(path: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(path).parts)


def _copy(content: IO[bytes] | gzip.GzipFile, target: Path) -> None:
    """Write the unpacked bytes. Raises: Unreadable when they are too many."""
    size = 0
    with target.open("wb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > MAX_TABLE_BYTES:
                raise Unreadable(
                    f"unpacked, the file is larger than {MAX_TABLE_BYTES // 1_000_000} MB: send it unpacked"
                )
            file.write(chunk)
