"""Run as root only, in a separate process: mount the parts where a plain user can reach them, become that user.

Only this process sees the mounts; they end with it. What it starts can never be root again.
Usage: python drop_root.py UID PLACE N source target ... -- command ...
"""

from __future__ import annotations

import ctypes
import os
import sys

_NEWNS, _BIND, _REC, _SLAVE, _RDONLY, _REMOUNT, _NOSUID, _NODEV = 0x20000, 4096, 16384, 1 << 19, 1, 32, 2, 4


def _mount(libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind)]
    if libc.mount(*texts, ctypes.c_ulong(flags), options.encode()) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount {target}: {os.strerror(code)}")


def main(arguments: list[str]) -> None:
    uid, place, count = int(arguments[0]), arguments[1], int(arguments[2])
    pairs = arguments[3 : 3 + 2 * count]
    command = arguments[4 + 2 * count :]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "this root may not make a mount namespace")
    _mount(libc, None, "/", None, _REC | _SLAVE)
    # Opened first: the mount point itself may hide what is below it.
    opened = [os.open(source, os.O_PATH) for source in pairs[::2]]
    _mount(libc, "tmpfs", place, "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m")
    for descriptor, name in zip(opened, pairs[1::2], strict=True):
        target = f"{place}/{name}"
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(libc, f"/proc/self/fd/{descriptor}", target, None, _BIND)
        os.close(descriptor)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups()):
        raise PermissionError("still root")
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"drop_root: {error}\n")
        sys.exit(71)
