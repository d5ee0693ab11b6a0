"""A folder as one archive: its current content, or its content at a commit."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import BinaryIO

#: Folders that tools put next to a project's own files: large, and never counted by the detectors.
_BESIDE = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
    }
)


def pack(folder: Path, archive: BinaryIO) -> None:
    """Pack the folder as a compressed tar: links stay links; in a git checkout only files that git does not ignore."""

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if Path(member.name).name in _BESIDE or not (member.isfile() or member.isdir() or member.issym()):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
        listed = _listed_by_git(folder)
        if listed is None:
            tar.add(folder, arcname=".", filter=keep)
        for name in listed or ():
            if os.path.lexists(folder / name):  # git still lists what was deleted and not committed
                tar.add(folder / name, arcname=f"./{name}", filter=keep, recursive=False)
    archive.seek(0)


def _listed_by_git(folder: Path) -> list[str] | None:
    """Return the files below the folder that git tracks or would track; None without a git checkout."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted({os.fsdecode(name) for name in answer.stdout.split(b"\0") if name})


def pack_commit(folder: Path, ref: str, archive: BinaryIO) -> None:
    """Pack the folder as of a commit of its repository, read from git's objects. Raises: ValueError."""
    try:
        commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode()
        listed = _git(folder, "ls-tree", "-r", "-z", commit.strip())
    except OSError as error:
        raise ValueError("git is not installed here") from error
    except subprocess.CalledProcessError:
        raise ValueError(f"{folder} has no commit {ref}; is it a git checkout?") from None
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry]
    files = [(meta.split()[2], os.fsdecode(name)) for meta, _, name in entries if meta.startswith(b"100")]
    with (
        subprocess.Popen(
            ["git", "-C", str(folder), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as reader,
        tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar,
    ):
        assert reader.stdin is not None
        assert reader.stdout is not None
        for id, name in files:
            reader.stdin.write(id + b"\n")
            reader.stdin.flush()
            size = int(reader.stdout.readline().split()[2])
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = size
            tar.addfile(entry, io.BytesIO(reader.stdout.read(size)))
            reader.stdout.read(1)
        reader.stdin.close()
    archive.seek(0)


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True).stdout
