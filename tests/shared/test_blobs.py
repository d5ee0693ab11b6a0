"""File contents: kept once by their hash, read back whole, swept when nothing refers to them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore, ObjectStore

from shared import blobs
from tests.support.s3 import bucket
from tests.support.wait import until

CONTENT = bytes(range(256)) * 50_000


@pytest.fixture(scope="module")
def in_bucket() -> Iterator[ObjectStore]:
    with bucket() as store:
        yield store


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """A folder, a store that like S3 has no folders and no files, and a bucket of a server, empty."""
    if request.param == "s3":
        kept: ObjectStore = request.getfixturevalue("in_bucket")
        if old := names(kept):
            obstore.delete(kept, old)
        return kept
    return blobs.open_store((tmp_path / "a b").as_uri()) if request.param == "folder" else MemoryStore()


def names(store: ObjectStore) -> list[str]:
    return sorted(entry["path"] for page in obstore.list(store) for entry in page)


def test_content_is_read_back_as_it_was_written(store: ObjectStore, tmp_path: Path) -> None:
    file = tmp_path / "content"
    file.write_bytes(CONTENT)
    written = [blobs.write(store, content) for content in (CONTENT, file, io.BytesIO(CONTENT))]
    assert written == [blobs.Blob(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))] * 3
    assert names(store) == [blobs.place(written[0].sha256)]
    with blobs.read(store, written[0].sha256) as stream:
        assert stream.read(3) == CONTENT[:3]
        assert stream.seek(-4, 2) == len(CONTENT) - 4
        assert stream.read() == CONTENT[-4:]
        assert stream.seek(1) == 1
        assert stream.read() == CONTENT[1:]
    blobs.fetch(store, written[0].sha256, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT
    (tmp_path / "copy").unlink()
    with blobs.read(store, written[0].sha256) as stream:
        assert stream.read() == CONTENT


def test_a_stale_file_in_the_way_is_replaced_and_never_written_through(store: ObjectStore, tmp_path: Path) -> None:
    first, second = (blobs.write(store, content) for content in (b"first", b"second"))
    blobs.fetch(store, first.sha256, tmp_path / "here")
    blobs.fetch(store, second.sha256, tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"second"
    with blobs.read(store, first.sha256) as stream:
        assert stream.read() == b"first"


def test_nothing_is_content_too(store: ObjectStore) -> None:
    blob = blobs.write(store, b"")
    assert blob.size == 0
    with blobs.read(store, blob.sha256) as stream:
        assert stream.read() == b""


def test_what_is_not_there_is_not_found(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        blobs.read(store, "0" * 64)
    with pytest.raises(FileNotFoundError):
        blobs.fetch(store, "0" * 64, tmp_path / "copy")


def test_a_stream_that_breaks_leaves_nothing(store: ObjectStore) -> None:
    async def chunks(broken: bool) -> AsyncIterator[bytes]:
        for start in range(0, len(CONTENT), 1 << 20):
            yield CONTENT[start : start + (1 << 20)]
        if broken:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(blobs.receive(store, chunks(broken=True)))
    assert names(store) == []
    blob = asyncio.run(blobs.receive(store, chunks(broken=False)))
    assert names(store) == [blobs.place(blob.sha256)]

    async def part(start: int, end: int) -> bytes:
        return b"".join([chunk async for chunk in blobs.stream(store, blob.sha256, start, end)])

    assert asyncio.run(part(5, 9)) == CONTENT[5:9]
    assert asyncio.run(part(0, len(CONTENT))) == CONTENT
    assert asyncio.run(part(3, 3)) == b""


def test_a_sweep_takes_what_is_old_and_unused(store: ObjectStore) -> None:
    used, unused = blobs.write(store, b"used"), blobs.write(store, b"unused")
    past, future = datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1)
    assert blobs.sweep(store, past, lambda hashes: set()).deleted == 0
    assert blobs.sweep(store, future, lambda hashes: {used.sha256} & set(hashes)).deleted == 1
    assert names(store) == [blobs.place(used.sha256)]
    assert unused.sha256 != used.sha256


def test_parts_of_an_upload_are_joined_and_kept_for_a_day(store: ObjectStore) -> None:
    async def join() -> bytes:
        for offset, part in ((4, b"efg"), (0, b"xxxx"), (0, b"abcd")):  # the last of those that begin at one place
            await blobs.keep_part(store, "one", offset, part)
        await blobs.keep_part(store, "one-more", 0, b"other")
        return b"".join([chunk async for chunk in blobs.parts(store, "one")])

    async def join_with_a_gap() -> None:
        await blobs.keep_part(store, "gap", 3, b"d")
        [chunk async for chunk in blobs.parts(store, "gap")]

    assert asyncio.run(join()) == b"abcdefg"
    with pytest.raises(FileNotFoundError):
        asyncio.run(join_with_a_gap())
    now = datetime.now(UTC)
    assert blobs.sweep(store, now + timedelta(hours=1), lambda hashes: set()).deleted == 0
    assert blobs.sweep(store, now + timedelta(hours=1) + blobs.UPLOAD_KEPT, lambda hashes: set()).deleted == 4


def test_what_is_uploaded_again_during_a_sweep_stays(store: ObjectStore) -> None:
    blobs.write(store, b"again")
    listed = _moment_after_all_that_is_there(store)

    def uploaded_meanwhile(hashes: list[str]) -> set[str]:
        blobs.write(store, b"again")
        return set()

    assert blobs.sweep(store, listed, uploaded_meanwhile).deleted == 0
    assert blobs.sweep(store, _moment_after_all_that_is_there(store), lambda hashes: set()).deleted == 1


def _moment_after_all_that_is_there(store: ObjectStore) -> datetime:
    """Return a moment that what is in the store is older than, and what is written from now on is not."""
    newest = max(entry["last_modified"] for page in obstore.list(store) for entry in page)

    def later() -> datetime | None:
        """Return the store's own time, which has ticks of milliseconds in a folder and of a second in a bucket."""
        obstore.put(store, "now", b"")
        now = obstore.head(store, "now")["last_modified"]
        obstore.delete(store, "now")
        return now if now > newest else None

    return until(later, "the store's time goes on")


_FILL = """
import sys
from shared import blobs
from shared.errors import StorageFull
store = blobs.open_store("file://" + sys.argv[1])
try:
    blobs.write(store, bytes(3_000_000))
except StorageFull as full:
    print(full.status, full.detail)
print(len(list(__import__("pathlib").Path(sys.argv[1]).rglob("incoming/*"))))
"""


@pytest.mark.slow
def test_a_full_disk_is_told_as_such_and_nothing_is_left(tmp_path: Path) -> None:
    script = f'mount -t tmpfs -o size=1m none "{tmp_path}" && exec "{sys.executable}" -c "$0" "{tmp_path}"'
    filled = subprocess.run(["unshare", "-rm", "sh", "-c", script, _FILL], capture_output=True, text=True, check=False)
    if "unshare" in filled.stderr or "mount" in filled.stderr:
        pytest.skip("no file system can be mounted here")
    assert filled.stdout.startswith("507 The server has no space left"), filled.stderr
    assert filled.stdout.endswith("\n0\n")


def _whole(store: ObjectStore, sha256: str, target: Path) -> bytes:
    with blobs.read(store, sha256) as stream:
        return stream.read()


def _fetched(store: ObjectStore, sha256: str, target: Path) -> bytes:
    blobs.fetch(store, sha256, target)
    return target.read_bytes()


def _streamed(start: int) -> Callable[[ObjectStore, str, Path], bytes]:
    async def joined(store: ObjectStore, sha256: str) -> bytes:
        return b"".join([chunk async for chunk in blobs.stream(store, sha256, start, len(CONTENT))])

    return lambda store, sha256, target: asyncio.run(joined(store, sha256))


READS = {"read": _whole, "fetch": _fetched, "stream": _streamed(0), "range": _streamed(7)}


@pytest.mark.parametrize("way", READS)
def test_content_that_another_replaced_is_never_returned(store: ObjectStore, tmp_path: Path, way: str) -> None:
    blob = blobs.write(store, CONTENT)
    assert READS[way](store, blob.sha256, tmp_path / "copy")[-9:] == CONTENT[-9:]
    obstore.put(store, blobs.place(blob.sha256), b"forged!" + CONTENT[7:])
    with pytest.raises(FileNotFoundError):
        READS[way](store, blob.sha256, tmp_path / "copy")
    blobs.write(store, CONTENT)  # written again, it is whole again
    assert READS[way](store, blob.sha256, tmp_path / "copy")[-9:] == CONTENT[-9:]


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_content_that_was_written_over_is_never_returned(tmp_path: Path, way: str, mode: int) -> None:
    store = blobs.open_store(tmp_path.as_uri())
    blob = blobs.write(store, CONTENT)
    file = tmp_path / blobs.place(blob.sha256)
    assert file.stat().st_mode & 0o777 == 0o444
    file.chmod(mode)  # as another user's that it can change
    READS[way](store, blob.sha256, tmp_path / "copy")
    before = file.stat()
    with file.open("r+b") as written:
        written.seek(len(CONTENT) - 3)
        written.write(b"???")
    if mode != 0o444:  # only the owner of a file sets the time of its last change back
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileNotFoundError):
        READS[way](store, blob.sha256, tmp_path / "copy")


def test_content_that_is_changed_while_it_is_read_is_not_returned(tmp_path: Path) -> None:
    store = blobs.open_store(tmp_path.as_uri())
    blob = blobs.write(store, CONTENT)
    with blobs.read(store, blob.sha256) as stream:
        assert stream.read(10) == CONTENT[:10]
        with (tmp_path / blobs.place(blob.sha256)).open("r+b") as written:
            written.seek(5_000_000)
            written.write(b"???")
        with pytest.raises(FileNotFoundError):
            stream.read()


def test_a_file_that_others_can_change_is_copied_and_ours_is_linked(tmp_path: Path) -> None:
    store = blobs.open_store((tmp_path / "blobs").as_uri())
    blob = blobs.write(store, CONTENT)
    file = tmp_path / "blobs" / blobs.place(blob.sha256)
    blobs.fetch(store, blob.sha256, tmp_path / "linked")
    assert (tmp_path / "linked").stat().st_ino == file.stat().st_ino
    file.chmod(0o664)
    blobs.fetch(store, blob.sha256, tmp_path / "copied")
    assert (tmp_path / "copied").stat().st_ino != file.stat().st_ino
    assert (tmp_path / "copied").stat().st_mode & 0o777 == 0o444


_GIVE_BACK = """
import os, sys
from shared import blobs
store = blobs.open_store("file://" + sys.argv[1])
os.setresgid(62001, 62001, 62001); os.setresuid(62001, 62001, 62001)
for keep in (True, False):
    aside = blobs.set_aside(store, sys.argv[2])
    print(aside is not None, end=" ")
    aside.put_back() if keep else aside.delete()
    print(aside.place.exists(), end=" ")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes users")
def test_the_space_of_another_users_content_is_given_back_or_kept(servers_folder: Path) -> None:
    folder = servers_folder / "of-two-users"
    store = blobs.open_store(folder.as_uri())
    blob = blobs.write(store, CONTENT)
    blobs.release(store, blob)
    for inside in (folder, *folder.rglob("*")):
        if inside.is_dir():
            os.chown(inside, 62001, 62001)
    os.chown(folder / blobs.place(blob.sha256), 62002, 62001)
    program = [sys.executable, "-c", _GIVE_BACK, str(folder), blob.sha256]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.stdout == "True True True False ", ended.stderr
