"""A folder on this machine (embedded mode only). Links are never followed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from services.stacks.tree import NEVER_FIRST_PARTY, UNASKED, Folder, Tree, join
from shared.errors import SourceTooLarge, SourceUnreadable

#: Most files are smaller; a larger buffer would be allocated by the system for each of them.
_FIRST_READ = 64 << 10


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
