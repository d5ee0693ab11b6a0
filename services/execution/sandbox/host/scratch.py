"""The folder that one sandbox keeps its files in, and the clearing away of folders whose sandbox was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from functools import cached_property
from pathlib import Path

_PREFIX, _LOCK = "assay-sandbox-", ".lock"


class Scratch:
    """A folder with a lock file, which the kernel unlocks when its owner ends, for whatever reason.

    A process number would not do: it is reused, and means nothing in another container.
    """

    def __init__(self) -> None:
        """Create the folder. Raises: OSError when it cannot be written."""
        place = Path(tempfile.gettempdir())
        sweep(place)
        lock = None
        while lock is None:  # another process's sweep may be faster than our lock
            self.folder = place / f"{_PREFIX}{secrets.token_hex(6)}"
            path = _lock_of(self.folder)
            lock = _held(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        self._lock: int | None = lock
        self.folder.mkdir(mode=0o700)

    def close(self) -> None:
        if self._lock is not None:
            _remove(self.folder)
            os.close(self._lock)
            self._lock = None

    def temporary(self, kind: str) -> TemporaryFolder:
        return TemporaryFolder(self.folder, kind)


class TemporaryFolder:
    """A folder for one job or session, made when it is first wanted and gone with its context."""

    def __init__(self, place: Path, kind: str) -> None:
        self._place = place
        self._kind = kind

    @cached_property
    def path(self) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{self._kind}-", dir=self._place))

    def __enter__(self) -> TemporaryFolder:
        return self

    def __exit__(self, *_error: object) -> None:
        if "path" in self.__dict__:
            shutil.rmtree(self.path, ignore_errors=True)


def sweep(place: Path) -> None:
    """Remove what dead owners left, as far as it is this user's."""
    for path in place.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            lock = _held(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            continue
        if lock is not None:
            _remove(path.with_suffix(""))
            os.close(lock)


def _held(lock: int) -> int | None:
    """Return the lock file, locked; closed, and ``None``, when it is another's or was just swept away."""
    kind = os.fstat(lock)
    if kind.st_uid == os.geteuid() and stat.S_ISREG(kind.st_mode):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_nlink:
                return lock
    os.close(lock)
    return None


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_LOCK}")


def _remove(folder: Path) -> None:
    """Remove the folder, then the lock: as long as anything is left, a later sweep finds it."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        _lock_of(folder).unlink(missing_ok=True)
