"""Uploads are streamed and never extracted; what is hostile is refused or named, within bounds."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from services.stacks.engine import DetectOptions
from services.stacks.phases.assemble import canonical
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.local import open_folder
from services.stacks.tree import Tree
from shared.errors import AssayError, JobCancelled, SourceTooLarge, SourceUnreadable, UnknownArchiveFormat
from tests.services.stacks.archives import PACKED, add, tar, zipped
from tests.services.stacks.trees import as_bytes, detected, engine

FILES = {
    "package.json": {"name": "web", "dependencies": {"express": "4"}}, "index.js": "app.listen(3001)\n", "yarn.lock": "# v1\n",
    "api/go.mod": "module api\n\ngo 1.22\n", "api/main.go": "package main\n", "a/very/long/" + "x" * 120 + "/y.py": "print(1)\n",
    "ünïcode/é.rb": "puts 1\n",
}  # fmt: skip


def opened(body: bytes, limits: SourceLimits | None = None) -> Tree:
    return open_archive(io.BytesIO(body), ArchiveSelector(engine().tables), limits or SourceLimits())


def answer(tree: Tree) -> bytes:
    return canonical(engine().detect(tree, DetectOptions())[0])


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("top", ["", "project-1.0/"])
def test_a_tar_in_any_packing_is_the_tree_that_it_holds(packing: str, top: str) -> None:
    assert answer(opened(PACKED[packing](tar(FILES, top)))) == canonical(detected(FILES))


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_format_is_read(format: int) -> None:
    files = {path: content for path, content in FILES.items() if len(path) < 100 or format != tarfile.USTAR_FORMAT}
    assert answer(opened(tar(files, format=format))) == canonical(detected(files))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_the_tree_that_it_holds(compression: int) -> None:
    assert answer(opened(zipped(FILES, "top/", compression))) == canonical(detected(FILES))


def test_a_folder_is_the_tree_that_it_holds(tmp_path: Path) -> None:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(as_bytes(content))
    assert answer(open_folder(tmp_path, 1000)) == canonical(detected(FILES))


def test_two_gzip_members_are_one_archive() -> None:
    body = tar(FILES)
    assert answer(opened(gzip.compress(body[:1000]) + gzip.compress(body[1000:]))) == canonical(detected(FILES))


def hostile() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        add(archive, "../../escape/package.json", b"{}")
        add(archive, "/etc/package.json", b"{}")
        add(archive, "link", kind=tarfile.SYMTYPE, link="/etc/passwd")
        add(archive, "hard", kind=tarfile.LNKTYPE, link="package.json")
        add(archive, "null", kind=tarfile.CHRTYPE)
        add(archive, "fifo", kind=tarfile.FIFOTYPE)
        add(archive, "c:\\windows\\package.json", b"{}")
        add(archive, "ok/package.json", b'{"name": "ok"}')
        add(archive, "go.mod", b"module x\n")
    return buffer.getvalue()


def test_unsafe_entries_are_skipped_and_named() -> None:
    result, warnings = engine().detect(opened(hostile()))
    assert [service.path for service in result.services] == ["", "ok"]
    told = "\n".join(warnings)
    for words in ("leaves the archive", "absolute or foreign", "symbolic link", "hard link", "device", "pipe"):
        assert words in told


def test_a_link_in_a_zip_is_skipped_and_named() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("../up/package.json", "{}")
        archive.writestr("go.mod", "module x\n")
    result, warnings = engine().detect(opened(buffer.getvalue()))
    assert [service.path for service in result.services] == [""]
    assert len(warnings) == 2


def test_a_name_that_is_not_text_is_skipped_and_named() -> None:
    body = tar({"go.mod": "module x\n", "bad": "x"}).replace(b"bad\0", b"b\xffd\0")
    header = bytearray(body)
    at = body.index(b"b\xffd\0")
    header[at + 148 : at + 156] = b" " * 8
    header[at + 148 : at + 156] = b"%06o\0 " % sum(header[at : at + 512])
    _, warnings = engine().detect(opened(bytes(header)))
    assert warnings == ["skipped 1 unsafe archive entry with a name that is not UTF-8: b\\udcffd"]


@pytest.mark.parametrize("packing", PACKED)
def test_a_truncated_archive_is_refused(packing: str) -> None:
    body = PACKED[packing](tar({**FILES, "big.py": "x = 1\n" * 20000}))
    with pytest.raises((SourceUnreadable, UnknownArchiveFormat)):
        opened(body[: len(body) // 2])


def test_a_truncated_zip_is_refused() -> None:
    with pytest.raises(SourceUnreadable):
        opened(zipped(FILES)[:-30])


@pytest.mark.parametrize(
    "body",
    [b"", b"hello", b"\0" * 100, b"MZ" + b"\0" * 600, gzip.compress(b"not a tar"), b"\x1f\x8b" + b"junk" * 200],
    ids=["empty", "text", "zeros", "program", "gzip of text", "broken gzip"],  # the same in every worker
)
def test_what_is_no_archive_is_refused(body: bytes) -> None:
    with pytest.raises((UnknownArchiveFormat, SourceUnreadable)) as refused:
        opened(body)
    assert refused.value.status == 422


def test_an_encrypted_zip_is_refused() -> None:
    body = bytearray(zipped({"package.json": "{}"}))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(SourceUnreadable, match="encrypted"):
        opened(bytes(body))


def test_a_zip_whose_content_does_not_unpack_is_refused() -> None:
    body = bytearray(zipped({"package.json": {"name": "x" * 500}}))
    body[45:60] = b"\xff" * 15
    with pytest.raises(SourceUnreadable):
        opened(bytes(body))


def test_too_many_entries_are_too_large() -> None:
    with pytest.raises(SourceTooLarge):
        opened(tar({f"f{number}": "" for number in range(50)}), SourceLimits(entries=49))
    with pytest.raises(SourceTooLarge):
        opened(zipped({f"f{number}": "" for number in range(50)}), SourceLimits(entries=49))


def test_too_many_bytes_are_too_large() -> None:
    limits = SourceLimits(unpacked_bytes=1 << 16)
    with pytest.raises(SourceTooLarge):
        opened(gzip.compress(tar({"a.bin": b"\0" * (1 << 17)})), limits)
    with pytest.raises(SourceTooLarge):
        opened(zipped({"a.bin": b"\0" * (1 << 17)}), limits)


@pytest.mark.slow
def test_a_bomb_is_refused_long_before_it_is_unpacked() -> None:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    header = tar({"a.bin": b""})[:512]
    entry = bytearray(header)
    entry[124:136] = b"%011o\0" % (4 << 30)
    entry[148:156] = b" " * 8
    entry[148:156] = b"%06o\0 " % sum(entry)
    zeros = b"\0" * (1 << 20)
    body = pack.compress(bytes(entry)) + b"".join(pack.compress(zeros) for _ in range(400)) + pack.flush()
    with pytest.raises(SourceTooLarge, match="times its size"):
        opened(body)


def test_a_tar_that_lies_about_a_size_is_refused() -> None:
    body = bytearray(tar({"package.json": "{}"}))
    body[124:136] = b"%011o\0" % (1 << 30)
    body[148:156] = b" " * 8
    body[148:156] = b"%06o\0 " % sum(body[:512])
    with pytest.raises(SourceUnreadable):
        opened(bytes(body))


def test_a_huge_manifest_is_named_and_not_read() -> None:
    body = tar({"package.json": b'{"name": "' + b"x" * (5 << 20) + b'"}', "api/go.mod": "module x\n"})
    result, _ = engine().detect(opened(body))
    root = next(service for service in result.services if service.path == "")
    assert "is not read" in root.warnings[0]
    assert {service.path for service in result.services} == {"", "api"}


def test_reading_stops_when_the_job_is_cancelled() -> None:
    with pytest.raises(JobCancelled):
        open_archive(io.BytesIO(tar({f"f{n}": "" for n in range(2000)})), lambda path: 0, SourceLimits(), lambda: True)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "package.json").write_text("{}")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "go.mod").symlink_to(tmp_path / "secret" / "package.json")
    os.mkfifo(root / "package.json")
    (root / os.fsdecode(b"b\xffd.py")).write_text("1\n")
    result, warnings = engine().detect(open_folder(root, 100))
    assert result.services == []
    assert len(warnings) == 1


def test_a_folder_that_is_none_is_an_error_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(AssayError) as refused:
        open_folder(tmp_path / "nowhere", 10)
    assert str(tmp_path) not in refused.value.detail
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    with pytest.raises(SourceTooLarge):
        open_folder(tmp_path, 1)
