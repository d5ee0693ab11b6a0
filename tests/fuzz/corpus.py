"""Inputs that once broke a parser, in one archive: ``TARGET/NAME`` for each.

The bytes of the archive depend on its inputs alone, so that the same inputs never make a difference in Git.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ARCHIVE = Path(__file__).parent / "corpus.zip"


def inputs(target: str, archive: Path = ARCHIVE) -> list[bytes]:
    """Return the inputs of a target, in the order of their names."""
    return [data for name, data in _read(archive).items() if name.startswith(f"{target}/")]


def add(target: str, data: bytes, archive: Path = ARCHIVE) -> str:
    """Keep an input, and return its name in the archive."""
    name = f"{target}/{hashlib.sha256(data).hexdigest()[:12]}"
    write({**_read(archive), name: data}, archive)
    return name


def write(files: Mapping[str, bytes], archive: Path = ARCHIVE) -> None:
    """Replace the archive by one of these inputs."""
    making = archive.with_suffix(".making")
    with ZipFile(making, "w") as new:
        for name, data in sorted(files.items()):
            new.writestr(ZipInfo(name), data, ZIP_DEFLATED)  # an information of its own has no time of today
    os.replace(making, archive)


def _read(archive: Path) -> Mapping[str, bytes]:
    with ZipFile(archive) as kept:
        return {name: kept.read(name) for name in sorted(kept.namelist())}
