"""Landlock, the belt over the braces: the kernel's own path rules, where it has them."""

from __future__ import annotations

import ctypes
import os
import struct

from services.execution.sandbox.guest.linux import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_OF_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_TCP = 3  #: bind and connect
_SCOPES = 3  #: abstract sockets and signals stay inside


def landlock_abi() -> int:
    """The version that the kernel speaks; 0 without Landlock."""
    try:
        return syscall(_CREATE, None, 0, 1)
    except OSError:
        return 0


def restrict_paths(readable: tuple[str, ...], writable: tuple[str, ...]) -> bool:
    """Allow only these folders from here on; ``False`` when the kernel has no Landlock."""
    abi = landlock_abi()
    if not abi:
        return False
    everything = _ALL_OF_ABI[min(abi, 5)]
    attributes = struct.pack("QQQ", everything, _TCP, _SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = syscall(_CREATE, ctypes.create_string_buffer(attributes, 24), size, 0)
    files_only = everything & ~_READ_DIR & (_READ | 2 | 1 << 14 | 1 << 15)
    # Names of the sandbox may be listed; what is in its files is another matter.
    for paths, access in ((("/",), _READ_DIR), (readable, _READ), (writable, everything & ~_EXECUTE)):
        for path in paths:
            try:
                folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            granted = access if os.path.isdir(path) else access & files_only
            rule = ctypes.create_string_buffer(struct.pack("=Qi", granted, folder), 12)
            syscall(_ADD, ruleset, 1, rule, 0)
            os.close(folder)
    syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return True
