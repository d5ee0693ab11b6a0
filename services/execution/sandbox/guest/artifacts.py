"""Which files leave the sandbox: regular, plainly named, small enough.

Those of a run are taken when no process is left to swap them; those of a session while its code lives, so an opened
file is checked again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_DEEPEST = 32
_MAX_REFUSALS = 40
_LONGEST_NAME = 255

Seen = dict[str, tuple[int, int, int]]  #: path -> inode, size, modification time


@dataclass(frozen=True)
class ArtifactLimits:
    files: int
    bytes: int
    endings: tuple[str, ...] = ()  #: of the names of files that are wanted, in lower case; empty: all are


@dataclass
class ArtifactCollector:
    """Found files are handed to ``take``; the rest is named in ``refused``."""

    caps: ArtifactLimits
    before: Seen
    take: Callable[[str, int, int], None]  #: shown path, size, descriptor
    taken: int = 0
    taken_bytes: int = 0
    refused: list[str] = field(default_factory=list)
    untold: int = 0
    _inodes: set[tuple[int, int]] = field(default_factory=set)

    def refuse(self, path: bytes, why: str) -> None:
        if len(self.refused) < _MAX_REFUSALS:
            self.refused.append(f"{shown(path)[:_LONGEST_NAME]}: {why}")
        else:
            self.untold += 1

    def offer(self, folder: int, name: bytes, path: bytes, kind: os.stat_result) -> None:
        """Take one entry that is not a folder, or record why not."""
        if self.caps.endings and not os.fsdecode(path).lower().endswith(self.caps.endings):
            return
        why = _why_not(path, kind)
        if why is None and (kind.st_dev, kind.st_ino) in self._inodes:
            why = "it is a second name of a file already taken"
        if why is None and self.before.get(os.fsdecode(path)) == (kind.st_ino, kind.st_size, kind.st_mtime_ns):
            return
        if why is None and kind.st_size > self.caps.bytes - self.taken_bytes:
            why = f"artifacts may be {self.caps.bytes // 1_000_000} MB in all"
        if why is None and self.taken >= self.caps.files:
            why = f"a run may leave {self.caps.files} artifacts"
        if why is not None:
            self.refuse(path, why)
            return
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                self.refuse(path, "it is not a regular file")
                return
            self._inodes.add((kind.st_dev, kind.st_ino))
            self.taken += 1
            self.taken_bytes += kind.st_size
            self.take(shown(path), kind.st_size, descriptor)
        finally:
            os.close(descriptor)


def _why_not(path: bytes, kind: os.stat_result) -> str | None:
    if any(part.startswith(b".") for part in path.split(b"/")):
        return "hidden files stay inside"
    if stat.S_ISLNK(kind.st_mode):
        return "it is a link"
    if not stat.S_ISREG(kind.st_mode):
        return "it is not a regular file"
    if len(shown(path)) > _LONGEST_NAME:
        return "its name is too long"
    return None


def shown(path: bytes) -> str:
    """Return a path as text, with unprintable characters escaped."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def snapshot(root: str) -> Seen:
    """Return the current files, to distinguish new and changed files from given ones."""
    seen: Seen = {}
    for folder, _folders, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            try:
                kind = os.lstat(path)
            except OSError:
                continue  # the session's code runs at the same time
            seen[os.path.relpath(path, root)] = (kind.st_ino, kind.st_size, kind.st_mtime_ns)
    return seen


def gather(root: str, collector: ArtifactCollector) -> None:
    """Walk without following anything, in the order of names, to a bounded depth."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _walk(top, b"", 0, collector)
    finally:
        os.close(top)
    if collector.untold:
        collector.refused.append(f"and {collector.untold} more")


def _walk(folder: int, prefix: bytes, depth: int, collector: ArtifactCollector) -> None:
    for name in sorted(_names(folder)):
        path = prefix + name
        try:
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(kind.st_mode):
                collector.offer(folder, name, path, kind)
            elif depth >= _DEEPEST:
                collector.refuse(path, f"folders are taken {_DEEPEST} deep")
            else:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                inner = os.open(name, flags, dir_fd=folder)
                try:
                    _walk(inner, path + b"/", depth + 1, collector)
                finally:
                    os.close(inner)
        except OSError:
            collector.refuse(path, "it cannot be read")


def _names(folder: int) -> Iterator[bytes]:
    return (os.fsencode(name) for name in os.listdir(folder))
