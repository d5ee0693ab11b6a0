"""Files into a sandbox and out of it, by descriptors over its control socket."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import cast

from services.execution.sandbox.guest.artifacts import ArtifactCollector, ArtifactLimits, gather, snapshot
from services.execution.sandbox.guest.isolate import CODE, GIVEN, OUT, WORK
from services.execution.sandbox.protocol.control import Control
from services.execution.sandbox.protocol.wire import Json, Message

_ROOTS = {"work": WORK, "code": CODE, "given": GIVEN}


class FileExchange:
    def __init__(self, control: Control, user: int | None) -> None:
        """``user``: that the code runs under, where init has rights over it."""
        self._control = control
        self._user = user
        self._before: dict[str, tuple[int, int, int]] = {}
        self._caps: ArtifactLimits | None = None

    def begin(self, collect: Json) -> None:
        """Record the given files in the work folder; ``collect``: how many files and bytes to hand out at the end."""
        self._before = snapshot(WORK)
        if collect is not None:
            count, size = cast("list[int]", collect)
            self._caps = ArtifactLimits(count, size)

    def put(self, message: Message, descriptors: list[int]) -> None:
        for file, descriptor in zip(cast("list[dict[str, str]]", message["files"]), descriptors, strict=True):
            with self._as_owner(file["root"]):
                self._write(file["root"], os.path.normpath(file["path"]), descriptor)

    def _write(self, root: str, path: str, descriptor: int) -> None:
        *folders, name = path.split("/")
        folder = _opened_folder(_ROOTS[root], folders)
        try:
            # A file of an earlier call may still be mapped: it is replaced, never cut.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            written = os.open(name, flags, 0o644, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            offset, size = 0, os.fstat(descriptor).st_size
            os.truncate(written, size)  # only within their size do files get large pages
            while offset < size:
                sent = os.sendfile(written, descriptor, offset, size - offset)
                if sent == 0:
                    break
                offset += sent
            if root == "work":
                kind = os.fstat(written)
                self._before[path] = (kind.st_ino, kind.st_size, kind.st_mtime_ns)
        finally:
            os.close(written)

    @contextlib.contextmanager
    def _as_owner(self, root: str) -> Iterator[None]:
        """Create files in the work folder as the code's own."""
        user = self._user if _ROOTS[root] == WORK else None
        if user is None:
            yield
            return
        os.seteuid(user)
        try:
            yield
        finally:
            os.seteuid(os.getuid())

    def hand_out(self) -> None:
        """Hand out what the run has written, if requested."""
        if self._caps is None:
            return
        refusals = self._gather(self._caps)
        for name in sorted(os.listdir(OUT)):
            self.give(name)
        self._control.send({"t": "refused", "names": refusals})

    def hand_out_new(self, collect: Json, endings: Json) -> None:
        """Hand out what a session has written since the last time, while its code lives; ``endings``: of the names."""
        count, size = cast("list[int]", collect)
        refusals = self._gather(ArtifactLimits(count, size, tuple(cast("list[str]", endings))))
        self._before = snapshot(WORK)
        self._control.send({"t": "refused", "names": refusals})

    def _gather(self, caps: ArtifactLimits) -> list[Json]:
        """Send new and changed files; the others in plain words."""

        def take(path: str, size: int, descriptor: int) -> None:
            self._control.send({"t": "file", "path": path, "size": size}, [descriptor])

        collector = ArtifactCollector(caps, self._before, take)
        gather(WORK, collector)
        return list(collector.refused)

    def give(self, name: str) -> None:
        """Hand out a file of ``OUT`` by its name: the code chose it, and in a session the code runs meanwhile."""
        descriptor = _opened_out(name)
        if descriptor is None:
            self._control.send({"t": "missing", "path": name})
            return
        try:
            self._control.send({"t": "out", "path": name, "size": os.fstat(descriptor).st_size}, [descriptor])
        finally:
            os.close(descriptor)


def _opened_folder(root: str, names: list[str]) -> int:
    """Open a folder below the root, created if missing. The code of a session may have put links in its place: none is
    followed, because init reaches what the code does not. Raises: OSError.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(root, flags)
    for name in names:
        try:
            if name == "..":
                raise NotADirectoryError(name)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, flags, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _opened_out(name: str) -> int | None:
    """Open a regular file directly in ``OUT``: no other path, no link, no pipe that would never end."""
    if os.path.basename(name) != name or "\x00" in name:
        return None
    try:
        descriptor = os.open(os.path.join(OUT, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, UnicodeError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None
