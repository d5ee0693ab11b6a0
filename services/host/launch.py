"""Start a program that ends with its parent, and not as root when that is requested.

A separate script, standard library only, run with ``python -I -S``: forking with Python code in between is unsafe in
a process that has threads, and changing users has to happen between fork and exec.

Usage: launch.py PARENT SIGNAL MODE UID GID -- COMMAND ...
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
CAP_DAC_OVERRIDE = 1
CLONE_NEWUSER = 0x10000000


def main() -> None:
    parent, signal, mode, uid, gid = sys.argv[1:6]
    separator = sys.argv.index("--")
    if mode in ("drop", "drop-override"):
        drop(int(uid), int(gid), override=mode == "drop-override")
    elif mode == "map":
        map_user(int(uid), int(gid))
    if sys.platform == "linux":
        # After the change of user, which clears it. A parent that ended before this call sends no signal.
        check(_libc().prctl(PR_SET_PDEATHSIG, int(signal), 0, 0, 0), "bind the process to its parent")
        if os.getppid() != int(parent):
            sys.exit("launch: the parent has ended")
    command = sys.argv[separator + 1 :]
    os.execvp(command[0], command)  # noqa: S606


def drop(uid: int, gid: int, *, override: bool) -> None:
    """Continue as another user; ``override`` lets it pass through folders of ours that are closed to others."""
    libc = _libc()
    if override:
        check(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keep capabilities")
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    os.chdir("/")
    if override:
        bits = 1 << CAP_DAC_OVERRIDE
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)(bits, bits, bits, 0, 0, 0)
        check(libc.capset(header, sets), "keep one capability")
        check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0), "hand one capability on")


def map_user(uid: int, gid: int) -> None:
    """Keep the files' owner but look like ``uid`` from the inside, in a user namespace."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    check(_libc().unshare(CLONE_NEWUSER), "make a user namespace")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {outer_uid} 1")
    _write("/proc/self/gid_map", f"{gid} {outer_gid} 1")


def check(answer: int, what: str) -> None:
    if answer != 0:
        sys.exit(f"launch: cannot {what}: {os.strerror(ctypes.get_errno())}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
