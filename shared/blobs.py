"""File contents by their hash, in a folder or an S3 bucket that every machine reaches; who owns which is in Postgres.

The address is the content, so writing the same file twice is one blob, and a blob never changes. What is being
written is under ``incoming/`` until it is complete; what a dead writer leaves there is deleted by ``sweep``.

In a folder, a writer holds the content by a second link until its row is committed (``release``). So ``set_aside``
knows that no one is about to refer to content that no row names, and its space can be given back at once.

Every process of the installation writes here, and one that was taken over could change what others wrote. So content is
read-only, and no byte of it is returned before the whole has been compared with its hash.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import logging
import os
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import LocalStore, ObjectStore, from_url
from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text, text

from shared.db import metadata
from shared.disk import disk_of
from shared.errors import StorageFull

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore import GetOptions
    from typing_extensions import Buffer

log = logging.getLogger(__name__)

_NOW = text("clock_timestamp()")

files = Table(
    "files",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("job_id", Text),  # the job that made it; null for an upload
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)
Index("ix_files_tenant_id", files.c.tenant_id, files.c.created_at, files.c.id)
Index("ix_files_sha256", files.c.sha256)
Index("ix_files_uploaded", files.c.created_at, postgresql_where=text("job_id IS NULL"))
Index("ix_files_job_id", files.c.job_id, postgresql_where=text("job_id IS NOT NULL"))

_CHUNK = 1 << 20
_CHECKED_BYTES = 4 << 20  #: bytes between two checks of the free disk space
_INCOMING = "incoming"
_UPLOADS = "uploads"
_ASIDE = "aside-"
_READ_ONLY = 0o444
_WRITABLE_BY_OTHERS = 0o022
_MAX_VERIFIED = 10_000  #: contents whose comparison is remembered
_MAX_CHANGES = 5  #: of a file while a part of it is read
_IN_MEMORY = 16 << 20
#: From its beginning on; what of an upload is there after that is deleted.
UPLOAD_KEPT = timedelta(days=1)


@dataclass(frozen=True)
class Blob:
    """What was written: its address and its size in bytes."""

    sha256: str
    size: int
    held: str | None = field(default=None, compare=False)  #: the link that holds it; see ``release``


def open_store(url: str) -> ObjectStore:
    """Open the store at ``file:///folder`` or ``s3://bucket/prefix``.

    S3 takes its credentials, region and endpoint from the usual ``AWS_*`` variables.
    """
    if url.startswith("file://"):
        return LocalStore(unquote(urlsplit(url).path), mkdir=True)
    return from_url(url)


def place(sha256: str) -> str:
    """Return the path in the store of the content with this hash."""
    return f"sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def write(store: ObjectStore, content: bytes | Path | BinaryIO) -> Blob:
    """Keep the content; it is streamed, never held whole unless it is given as bytes."""
    meter = _Meter(store)
    incoming = _incoming()
    try:
        obstore.put(store, incoming, (meter.count(chunk) for chunk in _chunks(content)))
        blob = _place(store, incoming, meter.blob())
    except BaseException as fault:
        _forget(store, incoming)
        if _is_full(fault):
            raise StorageFull from fault
        raise
    return blob


async def receive(store: ObjectStore, chunks: AsyncIterator[bytes]) -> Blob:
    """Keep what a client sends; when it stops half way, nothing is left behind."""
    check_space(store)
    meter = _Meter(store)
    incoming = _incoming()

    async def counted() -> AsyncIterator[bytes]:
        async for chunk in chunks:
            if chunk:
                yield meter.count(chunk)

    try:
        await obstore.put_async(store, incoming, counted())
        blob = _place(store, incoming, meter.blob())
    except BaseException as fault:
        # Without await: the request may be cancelled already, and deleting is one quick call.
        _forget(store, incoming)
        if _is_full(fault):
            raise StorageFull from fault
        raise
    return blob


async def keep_part(store: ObjectStore, upload: str, offset: int, content: bytes) -> None:
    """Store a part of an upload, replacing one with the same offset. Raises: StorageFull."""
    check_space(store, len(content))
    try:
        await obstore.put_async(store, f"{_UPLOADS}/{upload}/{offset:020}", content)
    except Exception as fault:
        if _is_full(fault):
            raise StorageFull from fault
        raise


async def parts(store: ObjectStore, upload: str) -> AsyncIterator[bytes]:
    """Yield an upload's content so far, in chunks. Raises: FileNotFoundError when a part is missing."""
    end = 0
    for path, size in await _parts_of(store, upload):
        start = int(path.rpartition("/")[2])
        if start != end:
            raise FileNotFoundError(path)
        end = start + size
        answer = await obstore.get_async(store, path)
        async for chunk in answer.stream(min_chunk_size=_CHUNK):
            yield bytes(chunk)


async def drop_parts(store: ObjectStore, upload: str) -> None:
    """Delete the parts of an upload."""
    for path, _ in await _parts_of(store, upload):
        with suppress(FileNotFoundError):
            await obstore.delete_async(store, path)


async def _parts_of(store: ObjectStore, upload: str) -> list[tuple[str, int]]:
    """Path and size, in order."""
    listed = [entry async for page in obstore.list(store, prefix=f"{_UPLOADS}/{upload}") for entry in page]
    return sorted((entry["path"], entry["size"]) for entry in listed)


def _folder(store: ObjectStore) -> Path | None:
    return Path(store.prefix) if isinstance(store, LocalStore) and store.prefix is not None else None


def check_space(store: ObjectStore, count: int = 0) -> None:
    """Check that the store can take the bytes and keep a reserve free for Postgres. Raises: StorageFull."""
    folder = _folder(store)
    if folder is not None and not disk_of(folder).takes(count):
        raise StorageFull


def _place(store: ObjectStore, incoming: str, blob: Blob) -> Blob:
    """Give complete content its address; in a folder it is held by a second link."""
    folder = _folder(store)
    if folder is None:
        obstore.rename(store, incoming, place(blob.sha256))
        return blob
    target, held, new = folder / place(blob.sha256), f"{incoming}#0", folder / f"{incoming}#1"
    target.parent.mkdir(parents=True, exist_ok=True)
    (folder / incoming).chmod(_READ_ONLY)  # who may enter the folder may read it
    try:
        os.link(folder / incoming, folder / held)
    except OSError:  # a file system without links: what is given back there waits for the sweep
        (folder / incoming).replace(target)
        return blob
    (folder / incoming).rename(new)
    new.replace(target)
    return replace(blob, held=held)


def release(store: ObjectStore, blob: Blob) -> None:
    """Let go of content whose row is committed, or will never be."""
    folder = _folder(store)
    if folder is not None and blob.held is not None:
        (folder / blob.held).unlink(missing_ok=True)


@dataclass(frozen=True)
class Aside:
    """Content that was taken out of its place to be deleted, if no row names it after all."""

    path: Path
    place: Path

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def put_back(self) -> None:
        try:
            os.link(self.path, self.place)
        except PermissionError:  # Linux lets no one link the file of another user
            if not self.place.exists():
                self.path.rename(self.place)
        except (FileExistsError, FileNotFoundError):  # the same content was written in the meantime
            pass
        self.delete()


def set_aside(store: ObjectStore, sha256: str) -> Aside | None:
    """Take content out of its place; None when it is not there, a writer or reader holds it, or links do not work.

    Afterwards the caller checks that no row names it, and deletes it or puts it back: a writer holds its content until
    its row is committed, so one that let go before can be seen.
    """
    folder = _folder(store)
    if folder is None:
        return None
    target = folder / place(sha256)
    aside = Aside(folder / _INCOMING / f"{_ASIDE}{sha256}#0", target)
    try:
        if target.stat().st_nlink > 1 or not _has_links(folder):
            return None
        target.rename(aside.path)
    except OSError:
        return None
    if aside.path.stat().st_nlink > 1:
        aside.put_back()
        return None
    return aside


def _has_links(folder: Path) -> bool:
    """Return whether a file in the store may have a second link. Raises: OSError."""
    one = folder / _INCOMING / f"{uuid.uuid4().hex}#0"
    other = one.with_name(f"{one.name}1")
    one.touch()
    try:
        os.link(one, other)
        other.unlink()
    except OSError:
        return False
    finally:
        one.unlink()
    return True


#: As the Rust library behind obstore words ENOSPC and EDQUOT: its exceptions carry no number.
_FULL = tuple(f"(os error {number})" for number in (errno.ENOSPC, errno.EDQUOT))


def _is_full(fault: BaseException) -> bool:
    numbers = (errno.ENOSPC, errno.EDQUOT)
    return (isinstance(fault, OSError) and fault.errno in numbers) or any(text in str(fault) for text in _FULL)


class WrongContent(FileNotFoundError):
    """What is stored under the hash is not what was written: the content itself is gone."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"the stored content is not that of {sha256}")
        log.error("blob_was_changed", extra={"sha256": sha256})


def read(store: ObjectStore, sha256: str) -> BinaryIO:
    """Open a seekable stream of the content. Raises: FileNotFoundError."""
    folder = _folder(store)
    if folder is not None:
        return io.BufferedReader(_VerifiedFile(folder / place(sha256), sha256), _CHUNK)
    copy = cast(BinaryIO, SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    try:
        for chunk in _verified(sha256, obstore.get(store, place(sha256)).stream(min_chunk_size=_CHUNK)):
            copy.write(chunk)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def fetch(store: ObjectStore, sha256: str, target: Path) -> None:
    """Place the content at ``target``, read-only: it is the blob itself if that is on the same disk, and ours alone.

    Raises: FileNotFoundError.
    """
    target.unlink(missing_ok=True)
    folder = _folder(store)
    if folder is not None and _is_linked(folder / place(sha256), sha256, target):
        return
    source = _chunks(folder / place(sha256)) if folder is not None else _remote(store, sha256)
    try:
        with target.open("wb") as file:
            for chunk in _verified(sha256, source):
                file.write(chunk)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    target.chmod(_READ_ONLY)


def _remote(store: ObjectStore, sha256: str) -> Iterator[bytes]:
    for chunk in obstore.get(store, place(sha256)).stream(min_chunk_size=_CHUNK):
        yield bytes(chunk)


def _is_linked(blob: Path, sha256: str, target: Path) -> bool:
    """Link the blob where no other user can write to it; else return False. Raises: FileNotFoundError."""
    try:
        os.link(blob, target)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, or one without links, or the file of another user
        return False
    if not _is_ours(target.stat()):
        target.unlink()
        return False
    try:
        _VerifiedFile(target, sha256).close()
    except WrongContent:
        target.unlink()
        raise
    return True


def _is_ours(status: os.stat_result) -> bool:
    """Return whether no other user can write to the file."""
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS


async def stream(store: ObjectStore, sha256: str, start: int, end: int) -> AsyncIterator[bytes]:
    """Yield the bytes from ``start`` up to ``end`` (exclusive), in chunks. Raises: FileNotFoundError.

    A whole content is compared with its hash on its way: its last chunk is there when the rest was right.
    """
    if start == end:
        return
    folder = _folder(store)
    if start == 0:
        info = await obstore.head_async(store, place(sha256))
        if info["size"] == end:
            content = (await obstore.get_async(store, place(sha256))).stream(min_chunk_size=_CHUNK)
            async for chunk in _verified_async(sha256, content):
                yield chunk
            return
    if folder is None:
        async for chunk in _remote_range(store, sha256, start, end):
            yield chunk
        return
    file = await asyncio.to_thread(_VerifiedFile, folder / place(sha256), sha256)
    try:
        file.seek(start)
        while start < end and (part := await asyncio.to_thread(file.read, min(_CHUNK, end - start))):
            start += len(part)
            yield part
    finally:
        file.close()


async def _remote_range(store: ObjectStore, sha256: str, start: int, end: int) -> AsyncIterator[bytes]:
    """Yield a part of an object that has been compared as a whole, and is still the same."""
    info = await obstore.head_async(store, place(sha256))
    version = (sha256, info["e_tag"])
    if version not in _VERIFIED:
        async for _ in _verified_async(sha256, (await obstore.get_async(store, place(sha256))).stream()):
            pass
        _remember(version)
    options: GetOptions = {"range": (start, end), "if_match": info["e_tag"]}
    answer = await obstore.get_async(store, place(sha256), options=options)
    async for chunk in answer.stream(min_chunk_size=_CHUNK):
        yield bytes(chunk)


def _verified(sha256: str, chunks: Iterable[Buffer]) -> Iterator[bytes]:
    """Yield the chunks, the last one when all of them have the hash. Raises: WrongContent."""
    digest, held = hashlib.sha256(), b""
    for chunk in chunks:
        digest.update(chunk)
        if held:
            yield held
        held = bytes(chunk)
    if digest.hexdigest() != sha256:
        raise WrongContent(sha256)
    yield held


async def _verified_async(sha256: str, chunks: AsyncIterable[Buffer]) -> AsyncIterator[bytes]:
    """As ``_verified``."""
    digest, held = hashlib.sha256(), b""
    async for chunk in chunks:
        digest.update(chunk)
        if held:
            yield held
        held = bytes(chunk)
    if digest.hexdigest() != sha256:
        raise WrongContent(sha256)
    yield held


#: Versions of contents that were compared with their hash. No one but the system sets the time of a file's last change.
_VERIFIED: OrderedDict[tuple[object, ...], None] = OrderedDict()


def _remember(version: tuple[object, ...]) -> None:
    _VERIFIED[version] = None
    while len(_VERIFIED) > _MAX_VERIFIED:
        _VERIFIED.popitem(last=False)


class _VerifiedFile(io.FileIO):
    """A file that has the content of its hash, also while it is read. Raises: WrongContent."""

    def __init__(self, path: Path, sha256: str) -> None:
        super().__init__(path, "rb")
        self._sha256 = sha256
        try:
            self._verify()
        except BaseException:
            self.close()
            raise

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read a part; one that was changed meanwhile is read again."""
        begin = self.tell()
        for _ in range(_MAX_CHANGES):
            count = super().readinto(buffer)
            if self._version() in _VERIFIED:
                return count
            self._verify()
            self.seek(begin)
        raise WrongContent(self._sha256)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return self.readall()
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(buffer)])

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_CHUNK), b""))

    def _version(self) -> tuple[object, ...]:
        """Return what no other user can keep when it changes the content."""
        status = os.fstat(self.fileno())
        changed = status.st_mtime_ns if _is_ours(status) else status.st_ctime_ns  # a link changes the latter, too
        return (self._sha256, status.st_dev, status.st_ino, status.st_uid, changed, status.st_size)

    def _verify(self) -> None:
        """Compare the content with its hash, unless this version of it was compared before."""
        version = self._version()
        if version in _VERIFIED:
            return
        begin, digest, chunk = self.tell(), hashlib.sha256(), bytearray(_CHUNK)
        self.seek(0)
        while count := super().readinto(chunk):
            digest.update(memoryview(chunk)[:count])
        self.seek(begin)
        if digest.hexdigest() != self._sha256:
            raise WrongContent(self._sha256)
        if version == self._version():
            _remember(version)


@dataclass(frozen=True)
class Swept:
    """What a sweep did."""

    listed: int  #: number of inspected blobs
    deleted: int


def sweep(
    store: ObjectStore, older_than: datetime, in_use: Callable[[list[str]], set[str]], shard: int | None = None
) -> Swept:
    """Delete blobs without references that are older than the moment, of one ``shard`` of 256 or of all.

    ``in_use`` says which of the given hashes are referred to. The age protects a blob that was just written and whose
    row is not committed yet.
    """
    listed = deleted = 0
    for prefix, before in ((_INCOMING, older_than), (_UPLOADS, older_than - UPLOAD_KEPT)):
        for objects in obstore.list(store, prefix=prefix):
            stale = [entry["path"] for entry in objects if entry["last_modified"] < before]
            deleted += sum(_delete_old(store, path, before) for path in stale)
    if isinstance(store, LocalStore) and store.prefix is not None:
        deleted += _delete_staged(Path(store.prefix), older_than, in_use)
    for objects in obstore.list(store, prefix="sha256" if shard is None else f"sha256/{shard:02x}"):
        listed += len(objects)
        old = {entry["path"].rsplit("/", 1)[-1] for entry in objects if entry["last_modified"] < older_than}
        unused = old - in_use(sorted(old)) if old else set()
        deleted += sum(_delete_old(store, place(sha256), older_than) for sha256 in sorted(unused))
    return Swept(listed, deleted)


def _delete_staged(folder: Path, older_than: datetime, in_use: Callable[[list[str]], set[str]]) -> int:
    """Delete what processes were writing when they were killed: the store does not list it.

    Content that was set aside by a process that was killed then is put back when a row names it.
    """
    deleted = 0
    for path in (folder / _INCOMING).glob("*#*"):
        with suppress(FileNotFoundError):
            stat = path.stat()
            if stat.st_mtime >= older_than.timestamp():
                continue
            sha256 = path.name.removeprefix(_ASIDE).partition("#")[0]
            if path.name.startswith(_ASIDE) and in_use([sha256]):
                Aside(path, folder / place(sha256)).put_back()
            else:
                path.unlink()
                deleted += stat.st_nlink == 1  # else it only held content
    return deleted


class _Meter:
    """Size and hash of what is written; raises StorageFull when it would use the reserve of the disk."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._hash = hashlib.sha256()
        self._size = self._checked = 0

    def count(self, chunk: bytes) -> bytes:
        self._hash.update(chunk)
        self._size += len(chunk)
        if self._size - self._checked > _CHECKED_BYTES:
            self._checked = self._size
            check_space(self._store)
        return chunk

    def blob(self) -> Blob:
        return Blob(self._hash.hexdigest(), self._size)


def _incoming() -> str:
    return f"{_INCOMING}/{uuid.uuid4().hex}"


def _chunks(content: bytes | Path | BinaryIO) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
    elif isinstance(content, Path):
        with content.open("rb") as file:
            yield from _chunks(file)
    else:
        while chunk := content.read(_CHUNK):
            yield chunk


def _forget(store: ObjectStore, path: str) -> None:
    with suppress(OSError):  # it may never have been written
        obstore.delete(store, path)


def _delete_old(store: ObjectStore, path: str, older_than: datetime) -> bool:
    """Delete an object, unless it was rewritten since it was listed: the same bytes have just been uploaded."""
    with suppress(FileNotFoundError):
        if obstore.head(store, path)["last_modified"] < older_than:
            obstore.delete(store, path)
            return True
    return False
