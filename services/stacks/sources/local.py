"""A folder on this machine (embedded mode only). Links are never followed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from services.stacks.tree import NEVER_FIRST_PARTY, UNASKED, Folder, Tree, join
from shared.errors import SourceTooLarge, SourceUnreadable

#: Most files are smaller; a larger buffer would be allocated by the system for each of them.
_FIRST_READ = 64 << 10
#: Nanoseconds after which a file that did not change cannot change unnoticed.
_SETTLED = 2_000_000_000


@dataclass(frozen=True)
class LocalReader:
    root: str

    def read(self, path: str, limit: int) -> bytes | None:
        try:
            descriptor = os.open(f"{self.root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        try:
            body = os.read(descriptor, min(limit, _FIRST_READ))  # of a regular file, all of it at once
            if len(body) == _FIRST_READ < limit:
                body += os.read(descriptor, limit - _FIRST_READ)
            return body
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def size(self, path: str) -> int:
        try:
            return os.lstat(f"{self.root}/{path}").st_size
        except (OSError, ValueError):
            return 0

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: a file is opened when it is read."""


def open_folder(root: Path, most_entries: int) -> Tree:
    """List the folder.

    Raises: SourceUnreadable when it is not a folder or cannot be listed, SourceTooLarge beyond ``most_entries``.
    """
    try:
        with os.scandir(root):
            pass
    except (OSError, ValueError):
        raise SourceUnreadable("the path is not a folder that Assay can read") from None
    folders: dict[str, Folder] = {}
    warnings: list[str] = []
    stack, seen = [""], 0
    base = str(root)
    while stack:
        path = stack.pop()
        folder = folders[path] = Folder(path)
        files, inner = folder.files, folder.folders
        try:
            with os.scandir(f"{base}/{path}") as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in NEVER_FIRST_PARTY:
                            inner.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files[entry.name] = UNASKED
        except OSError:
            warnings.append(f"the folder {_shown(path) or '.'} could not be read")
        seen += len(files) + len(inner)
        if seen > most_entries:
            raise SourceTooLarge(f"the folder holds more than {most_entries:,} entries")
        if not ("".join(files).isascii() and "".join(inner).isascii()):
            _name_strange(folder, warnings)
        prefix = path + "/" if path else ""
        stack += [prefix + name for name in inner]
    return Tree(folders, LocalReader(base), warnings)


def folder_identity(tree: Tree, now: int) -> str | None:
    """Return a hash of every file's path, size, times and inode, and note the sizes; None while it may still change.

    ``now``, in nanoseconds: a file that was changed less than two seconds before may change again within one step of
    the file system's clock, and look the same.
    """
    reader = tree.reader
    if not isinstance(reader, LocalReader):
        return None
    base, newest, hashed = reader.root, 0, hashlib.blake2b(digest_size=32)
    for path in sorted(tree.folders):
        files = tree.folders[path].files
        prefix = f"{base}/{path}/" if path else f"{base}/"
        stated = [path]
        for name in files:
            try:
                stat = os.lstat(prefix + name)
            except (OSError, ValueError):
                return None
            files[name] = stat.st_size
            newest = max(newest, stat.st_ctime_ns)
            stated.append(f"{name}\0{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino} {stat.st_mode}")
        hashed.update("\n".join(stated).encode("utf-8", "surrogateescape"))
        hashed.update(b"\n\n")
    if newest > now - _SETTLED:
        return None
    hashed.update(base.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def _name_strange(folder: Folder, warnings: list[str]) -> None:
    """Leave out names that are not text, because a result cannot hold them."""
    for names in (folder.files, folder.folders):
        strange = [name for name in names if not _all_text([name])]
        for name in strange:
            warnings.append(f"skipped a name that is not UTF-8: {_shown(join(folder.path, name))}")
            if names is folder.files:
                del folder.files[name]
            else:
                folder.folders.remove(name)


def _all_text(names: Iterable[str]) -> bool:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
