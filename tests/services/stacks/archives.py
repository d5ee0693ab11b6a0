"""Archives made by hand, the honest and the hostile."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Mapping

import zstandard

from tests.services.stacks.trees import as_bytes

PACKED = {
    "plain": lambda body: body,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def tar(files: Mapping[str, object], top: str = "", format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for path, content in files.items():
            add(archive, top + path, as_bytes(content))
    return buffer.getvalue()


def add(
    archive: tarfile.TarFile, name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type, entry.linkname = len(content), kind, link
    archive.addfile(entry, io.BytesIO(content))


def zipped(files: Mapping[str, object], top: str = "", compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for path, content in files.items():
            archive.writestr(top + path, as_bytes(content))
    return buffer.getvalue()
