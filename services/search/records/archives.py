"""Files of a zip or tar archive, one after another, within bounds of number, size and depth."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import IO, BinaryIO

from services.search.records.notes import Notes
from shared.errors import UnreadableFile

_MAX_FILES = 10_000
_MAX_ENTRIES = 50_000  #: with folders, links and what is left out
_MAX_FILE_BYTES = 256_000_000
_MAX_BYTES = 2_000_000_000  #: unpacked, of all files
_CHUNK = 1 << 20
#: What systems and tools add to a folder of documents.
_IGNORED = frozenset({"__MACOSX", ".git", ".hg", ".svn", ".DS_Store", "Thumbs.db", "desktop.ini"})


@dataclass(frozen=True)
class Member:
    path: str
    content: BinaryIO  #: a file of the file system; the receiver closes it


@dataclass(frozen=True)
class Skipped:
    """A file that cannot be read."""

    path: str
    why: str


def kind_of_zip(stream: BinaryIO) -> str:
    """Return ``excel`` or ``docx`` for a document in the form of a zip archive, else ``archive``."""
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()[:_MAX_ENTRIES]
    except (zipfile.BadZipFile, OSError, ValueError):
        return "archive"
    if "word/document.xml" in names:
        return "docx"
    is_sheet = any(name.startswith("xl/") for name in names) or "content.xml" in names
    return "excel" if (is_sheet and "[Content_Types].xml" in names) or "content.xml" in names else "archive"


def unzipped(stream: BinaryIO) -> BinaryIO | None:
    """Return the one file that gzip has packed, which the caller closes; None for an archive of files.

    Raises: UnreadableFile when it is damaged, or too large.
    """
    stream.seek(0)
    if stream.read(2) != b"\x1f\x8b":
        return None
    stream.seek(0)
    try:
        if tarfile.is_tarfile(stream):
            return None
        stream.seek(0)
        with gzip.GzipFile(fileobj=stream) as content:
            member = _Budget().unpack("the file", content)
    except (zlib.error, EOFError, OSError):
        raise UnreadableFile("the archive is damaged, or not a zip or tar archive") from None
    if isinstance(member, Skipped):
        raise UnreadableFile(f"the file cannot be read: unpacked, {member.why}")
    return member.content


def members(stream: BinaryIO, notes: Notes) -> Iterator[Member | Skipped]:
    """Yield the files of the archive in order of their paths; links, devices and hidden files are left out and noted.

    Raises: UnreadableFile when it is no archive, or too large.
    """
    stream.seek(0)
    is_zip = stream.read(4) == b"PK\x03\x04"
    stream.seek(0)
    try:
        yield from _of_zip(stream, notes) if is_zip else _of_tar(stream, notes)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError):
        raise UnreadableFile("the archive is damaged, or not a zip or tar archive") from None


class _Budget:
    """How much may still be unpacked."""

    def __init__(self) -> None:
        self._files = self._bytes = 0

    def unpack(self, path: str, content: IO[bytes] | gzip.GzipFile) -> Member | Skipped:
        """Unpack one member and count it against the limits. Raises: UnreadableFile."""
        self._files += 1
        if self._files > _MAX_FILES:
            raise UnreadableFile(f"the archive has more than {_MAX_FILES:,} files: send it in parts")
        target = TemporaryFile()  # noqa: SIM115 - the receiver of the member closes it
        size = 0
        try:
            while chunk := content.read(_CHUNK):
                size += len(chunk)
                self._bytes += len(chunk)
                if self._bytes > _MAX_BYTES:
                    raise UnreadableFile(f"the archive unpacks to more than {_MAX_BYTES / 1e9:g} GB: send it in parts")
                if size > _MAX_FILE_BYTES:
                    target.close()
                    return Skipped(path, f"it is larger than {_MAX_FILE_BYTES // 1_000_000} MB")
                target.write(chunk)
        except BaseException:
            target.close()
            raise
        target.flush()
        target.seek(0)
        return Member(path, target)


def _of_zip(stream: BinaryIO, notes: Notes) -> Iterator[Member | Skipped]:
    budget = _Budget()
    with zipfile.ZipFile(stream) as archive:
        _check_entries(len(archive.infolist()))
        for entry in sorted(archive.infolist(), key=lambda each: each.filename):
            path = _path(entry.filename)
            if entry.is_dir() or path is None:
                continue
            if (entry.external_attr >> 16) & 0o170000 == 0o120000:
                notes.add(f"{path}: a link, not read")
            elif entry.flag_bits & 1:
                yield Skipped(path, "it is encrypted")
            else:
                try:
                    with archive.open(entry) as content:
                        member = budget.unpack(path, content)
                except (zipfile.BadZipFile, NotImplementedError, zlib.error, EOFError):
                    member = Skipped(path, "it is damaged, or packed in a way that is not known")
                yield member


def _of_tar(stream: BinaryIO, notes: Notes) -> Iterator[Member | Skipped]:
    budget = _Budget()
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        for number, entry in enumerate(archive):
            _check_entries(number)
            path = _path(entry.name)
            if entry.isdir() or path is None:
                continue
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None:
                notes.add(f"{path}: a {'link' if entry.issym() or entry.islnk() else 'device'}, not read")
            else:
                yield budget.unpack(path, content)


def _check_entries(count: int) -> None:
    """Check the number of entries. Raises: UnreadableFile."""
    if count > _MAX_ENTRIES:
        raise UnreadableFile(f"the archive has more than {_MAX_ENTRIES:,} entries: send it in parts")


def _path(name: str) -> str | None:
    """Return the path within the archive; None for what is hidden. It only names the file: nothing is written there."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", ".", "..")]
    if not parts or any(part in _IGNORED or part.startswith(".") for part in parts):
        return None
    return "/".join(parts)[:1000]
