"""Files that show no path of this machine: code that maps a file can read its path in ``/proc/self/maps``.

``python detached.py DESCRIPTOR``, in a separate user namespace, opens files on request: a path comes in, the open
file goes out; it ends when its client is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

_OPEN_TREE, _CLONE, _EMPTY_PATH, _CLOEXEC, _HERE = 428, 1, 0x1000, 0o2000000, -100
_ANSWERS_WITHIN = 10.0
_OPEN_FILES = Path("/proc/self/fd")


class DetachedFiles:
    """Opens files through a mount of nothing but the file, whose path is ``/``; without a copy wherever that can be."""

    def __init__(self, bubblewrap: Path) -> None:
        self._helper: _MountHelper | None = None
        if os.geteuid() != 0:
            with contextlib.suppress(OSError):  # the sandbox will say what is wrong with bubblewrap
                self._helper = _MountHelper(bubblewrap)

    def open(self, path: Path) -> int:
        """Return a descriptor to read from. Raises: OSError when there is no such file."""
        plain = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if path.parent == _OPEN_FILES:
                return os.dup(plain)  # it came out of a sandbox, where no folder of this machine is above it
            detached = _detached(plain) if self._helper is None else self._helper.open(path, plain)
            return _copied(plain) if detached is None else detached
        finally:
            os.close(plain)

    def close(self) -> None:
        if self._helper is not None:
            self._helper.close()


def _detached(plain: int) -> int | None:
    """Open the file through a separate mount; ``None`` where this process may make none."""
    return _through_a_mount(plain, b"", _EMPTY_PATH)


def _through_a_mount(folder: int, path: bytes, flags: int = 0) -> int | None:
    call, flags = ctypes.c_long(_OPEN_TREE), flags | _CLONE | _CLOEXEC
    tree: int = ctypes.CDLL(None).syscall(call, folder, ctypes.create_string_buffer(path), flags)
    if tree < 0:
        return None
    try:
        return os.open(f"/proc/self/fd/{tree}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    finally:
        os.close(tree)


def _copied(plain: int) -> int:
    """Return a copy in memory that is sealed against changes."""
    size, offset = os.fstat(plain).st_size, 0
    copy = os.memfd_create("table", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        while offset < size and (sent := os.sendfile(copy, plain, offset, size - offset)):
            offset += sent
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(copy)
        raise
    return copy


class _MountHelper:
    """Another process may mount what we may read, in a separate user namespace; one with threads can enter none."""

    def __init__(self, bubblewrap: Path) -> None:
        self._lock = threading.Lock()
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_ANSWERS_WITHIN)
        with inside:
            python = [sys.executable, "-I", "-S", __file__, str(inside.fileno())]
            self._process = subprocess.Popen(
                [bubblewrap, "--dev-bind", "/", "/", "--unshare-user", "--cap-add", "CAP_SYS_ADMIN", "--", *python],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(inside.fileno(),),
            )

    def open(self, path: Path, plain: int) -> int | None:
        """``None`` when the helper cannot do it, or finds another file there."""
        try:
            with self._lock:
                self._control.send(os.fsencode(path))
                _, descriptors, _, _ = socket.recv_fds(self._control, 16, 1)
        except OSError:
            return None
        if descriptors and os.path.samestat(os.fstat(descriptors[0]), os.fstat(plain)):
            os.set_inheritable(descriptors[0], False)
            return descriptors[0]
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def close(self) -> None:
        self._control.close()
        self._process.wait()


def _open_what_is_asked_for(control: socket.socket) -> None:
    while path := control.recv(8192):
        opened = _through_a_mount(_HERE, path)
        socket.send_fds(control, [b"none" if opened is None else b"file"], [] if opened is None else [opened])
        if opened is not None:
            os.close(opened)


if __name__ == "__main__":
    _open_what_is_asked_for(socket.socket(fileno=int(sys.argv[1])))
