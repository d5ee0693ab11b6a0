"""Confines a process that reads untrusted input: no path, process or network beyond what its task was given.

Landlock names the folders that it may read, a seccomp filter refuses the calls that reach other processes or hosts, or
start programs. Both need no rights. Where a kernel lacks one of them, the other holds, and ``tried`` reports it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBC = ctypes.CDLL(None, use_errno=True)

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ABI_VERSION = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1, 2, 4, 8, 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR  #: libraries are mapped, which needs no right to execute
_ALL_OF_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_TCP = 3  #: bind and connect
_SCOPES = 3  #: abstract sockets and signals

_OUR_PACKAGES = ("services", "shared", "migrations", "assay", "tests")
_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/proc/meminfo",
    "/proc/cpuinfo", "/proc/stat", "/proc/sys",
    "/sys/devices/system", "/sys/fs/cgroup", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
)  # fmt: skip

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  #: offsets of the call's number, architecture and first argument
_CLONE_THREAD = 0x10000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
#: Calls that are refused, by their number on both architectures.
_REFUSED = {
    "x86_64": (
        41, 42, 49, 50, 57, 58, 59, 101, 129, 155, 161, 165, 166, 200, 248, 249, 250, 272, 297, 298, 308, 310, 311,
        312, 321, 322, 323, 424, 425, 434, 438, 440,
    ),
    "aarch64": (
        39, 40, 41, 51, 97, 117, 130, 138, 198, 200, 201, 203, 217, 218, 219, 221, 240, 241, 268, 270, 271, 272, 280,
        281, 282, 424, 425, 434, 438, 440,
    ),
}  # fmt: skip
#: Calls that may name the process itself only: kill, tgkill.
_OF_ITSELF = {"x86_64": (62, 234), "aarch64": (129, 131)}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}  #: itself is 0
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435

Instruction = tuple[int, int, int, int]


class Confinement:
    """What every task of a server may read; made once, before its forks."""

    def __init__(self) -> None:
        self._abi = max(0, _LIBC.syscall(_CREATE, None, 0, _ABI_VERSION))
        self._everything = _ALL_OF_ABI[min(self._abi, 5)] if self._abi else 0
        self._of_code = self._ruleset() if self._abi else -1

    def enter(self, files: Sequence[int] = (), folder: str | None = None) -> None:
        """Restrict this process for good: to the code, and a task with files to these and a folder to write.

        Raises: OSError when the kernel has a restriction and refuses it.
        """
        if self._abi:
            own = self._ruleset(files, folder) if files else self._of_code
            _check(_LIBC.syscall(_RESTRICT, own, 0), "restrict paths")
            for ruleset in {own, self._of_code}:
                os.close(ruleset)
        program = _filter(os.getpid())
        if program is not None:
            _check(_LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0), "filter calls")

    def _ruleset(self, files: Sequence[int] = (), folder: str | None = None) -> int:
        attributes = struct.pack("QQQ", self._everything, _TCP, _SCOPES)
        size = 8 if self._abi < 4 else 16 if self._abi < 6 else 24
        rules = int(_LIBC.syscall(_CREATE, ctypes.create_string_buffer(attributes, 24), size, 0))
        _check(rules, "make rules for paths")
        for path in _readable():
            _allow_path(rules, path, _READ)
        _allow_path(rules, "/dev/null", _READ_FILE | _WRITE_FILE)
        if files:
            _allow_path(rules, "/proc/self", _READ)  # engines of tables read what memory there is
        for descriptor in files:  # it may be opened again by its number
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                _allow(rules, descriptor, _READ_FILE)
        if folder is not None:
            _allow_path(rules, folder, self._everything & ~_EXECUTE)
        return rules


def tried(argument: object) -> Any:  # noqa: ANN401 - JSON
    """Return which boundaries hold where this runs, each by trying to cross it."""
    del argument
    return {
        "paths": _is_refused(lambda: os.listdir("/var")),
        "signals": _is_refused(lambda: os.kill(os.getppid(), 0)),
        "network": _is_refused(lambda: socket.socket().close()),
        "programs": _is_refused(lambda: os.execv("/", ["/"])),  # noqa: S606 - refused, or no program
        "user": os.getuid(),
    }


def _is_refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _readable() -> Sequence[str]:
    """Return the folders of the interpreter, its packages and ours."""
    python = {sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))}
    packages = {path for path in sys.path if path and path != _ROOT}
    return (*_SYSTEM, *python, *packages, *(os.path.join(_ROOT, name) for name in _OUR_PACKAGES))


def _allow_path(rules: int, path: str, access: int) -> None:
    with suppress(FileNotFoundError, PermissionError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _allow(rules, opened, access)
        os.close(opened)


def _allow(rules: int, descriptor: int, access: int) -> None:
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        access &= _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
    rule = ctypes.create_string_buffer(struct.pack("=Qi", access, descriptor), 12)
    _check(_LIBC.syscall(_ADD, rules, 1, rule, 0), "allow a path")


def _check(answer: int, what: str) -> None:
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"cannot {what}")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filter(pid: int) -> _Program | None:
    """Return the filter of the process; None on a machine whose calls it does not know."""
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    refuse, allow = (_RETURN, 0, 0, _ERRNO | errno.EPERM), (_RETURN, 0, 0, _ALLOW)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_ANY_BIT, 0, 1, _X32),
        refuse,
        (_EQUAL, 0, 1, _CLONE3),  # its flags are in memory; libraries fall back to clone
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_EQUAL, 0, 4, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        refuse,
        allow,
    ]
    for numbers, own in ((_OF_ITSELF[machine], pid), ((_PRLIMIT[machine],), 0)):
        for number in numbers:
            code += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST), (_EQUAL, 1, 0, own), refuse, allow]
    for number in _REFUSED[machine]:
        code += [(_EQUAL, 0, 1, number), refuse]
    code.append(allow)
    return _Program(len(code), b"".join(struct.pack("HBBI", *each) for each in code))
