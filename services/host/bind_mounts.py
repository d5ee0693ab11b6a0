"""Show a process that gives up being root what it needs of folders that only root may enter (``/root``).

Such a folder is covered, in a mount namespace that the process has for itself, by an empty one which holds nothing but
what is needed, at the same paths. Other folders it may be shown to read only. As a program it tries whether that works
here, and what is shown can be reached: ``python -I -S bind_mounts.py UID GID hidden ... ro=read_only ... -- shown ...
[-- command ...]``, with the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_NEWNS, _BIND, _REC, _SLAVE, _NOSUID, _NODEV, _NOEXEC = 0x20000, 4096, 16384, 1 << 19, 2, 4, 8
_READ_ONLY, _REMOUNT, _NO_TIMES = 1, 32, 1024 | 2048
READ_ONLY = "ro="  #: before a folder that may be read only, on the command line


def show(hidden: Sequence[str], shown: Sequence[str], read_only: Sequence[str] = ()) -> None:
    """``hidden`` are the closed folders, ``shown`` what stays there. Raises: OSError when root may not do that here."""
    if not hidden and not read_only:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "make a mount namespace")
    _mount(libc, None, "/", None, _REC | _SLAVE)
    _cover(libc, hidden, shown)
    for folder in read_only:
        kept = os.statvfs(folder).f_flag & (_NOSUID | _NODEV | _NOEXEC | _NO_TIMES)
        _mount(libc, folder, folder, None, _BIND)
        _mount(libc, None, folder, None, _BIND | _REMOUNT | _READ_ONLY | kept)


def _cover(libc: ctypes.CDLL, hidden: Sequence[str], shown: Sequence[str]) -> None:
    paths = [path for path in shown if not any(Path(other) in Path(path).parents for other in shown)]
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths if os.path.exists(path)}
    for folder in hidden:
        _mount(libc, "tmpfs", folder, "tmpfs", _NOSUID | _NODEV, "mode=711,size=1m")
    before = os.umask(0o022)
    for path, descriptor in opened.items():
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        _mount(libc, f"/proc/self/fd/{descriptor}", path, None, _BIND | _REC)
        os.close(descriptor)
    os.umask(before)


def drop(uid: int, gid: int) -> None:
    """Never to be root again."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _mount(libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind)]
    if libc.mount(*texts, ctypes.c_ulong(flags), options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def _try(arguments: list[str]) -> int:
    uid, gid, rest = int(arguments[0]), int(arguments[1]), arguments[2:]
    folders, rest = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    shown, command = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, [])
    read_only = [folder.removeprefix(READ_ONLY) for folder in folders if folder.startswith(READ_ONLY)]
    show([folder for folder in folders if not folder.startswith(READ_ONLY)], shown, read_only)
    drop(uid, gid)
    if command:
        os.execv(command[0], command)  # noqa: S606
    return 0 if all(os.access(path, os.X_OK if os.path.isdir(path) else os.R_OK) for path in shown) else 1


if __name__ == "__main__":
    sys.exit(_try(sys.argv[1:]))
