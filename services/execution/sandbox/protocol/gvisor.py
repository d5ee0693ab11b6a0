"""How both sides recognise the kernel of gVisor."""

from __future__ import annotations

import ctypes
import os
import platform

_SYSLOG = {"x86_64": 103, "aarch64": 116}
_READ_ALL = 3


def runs_on_gvisor() -> bool:
    """Return whether this is gVisor's kernel: by its name, and by its own log, which every process may read."""
    name = os.uname()
    if (name.release, name.version) != ("4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016"):
        return False
    log = ctypes.create_string_buffer(1 << 16)
    size = ctypes.CDLL(None).syscall(ctypes.c_long(_SYSLOG[platform.machine()]), _READ_ALL, log, len(log))
    return size > 0 and b"Starting gVisor" in log.raw[:size]
